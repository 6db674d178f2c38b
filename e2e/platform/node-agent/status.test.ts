import { describe, expect, test } from "vitest";
import type { ContainerState, ContainerStatus, Pod, PodSpec, PodStatus } from "./kinds.ts";
import { composeStatus, phaseOf } from "./status.ts";

const times = { startedAt: "t1", finishedAt: "t2" };
const running: ContainerState = { running: { startedAt: "t1" } };
const waiting: ContainerState = { waiting: { reason: "ContainerCreating" } };
const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode, reason: "", ...times } });

function container(state: ContainerState, ready = false, restartCount = 0): ContainerStatus {
  return {
    name: "main",
    image: "i",
    imageID: "i",
    ready,
    started: ready,
    restartCount,
    state,
    lastState: {},
  };
}

function aPod(restartPolicy: NonNullable<PodSpec["restartPolicy"]>, status?: PodStatus): Pod {
  const base = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { restartPolicy, containers: [] },
  };
  return status === undefined ? base : { ...base, status };
}

const at = { podIP: "10.9.2.1", hostIP: "127.0.0.1" };

describe("the phase follows the containers and the restart policy", () => {
  test.each<[NonNullable<PodSpec["restartPolicy"]>, ContainerStatus[], PodStatus["phase"]]>([
    ["Always", [container(waiting)], "Pending"],
    ["Always", [container(running)], "Running"],
    ["Always", [container(waiting, false, 2)], "Running"],
    ["Always", [container(ended(1))], "Running"],
    ["Never", [container(ended(0))], "Succeeded"],
    ["Never", [container(ended(1))], "Failed"],
    ["Never", [container(ended(0)), container(running)], "Running"],
    ["OnFailure", [container(ended(0))], "Succeeded"],
    ["OnFailure", [container(ended(1))], "Running"],
  ])("%s, %o: %s", (policy, containers, phase) => {
    expect(phaseOf(aPod(policy), { ...at, initContainers: [], containers })).toBe(phase);
  });

  test("a failed init container fails a Pod that is never restarted", () => {
    const state = { ...at, initContainers: [container(ended(1))], containers: [container(waiting)] };
    expect(phaseOf(aPod("Never"), state)).toBe("Failed");
    expect(phaseOf(aPod("Always"), state)).toBe("Pending");
  });
});

function readyOf(status: PodStatus) {
  return status.conditions?.find(({ type }) => type === "Ready");
}

describe("a Pod is ready", () => {
  test("while all its containers are", () => {
    const containers = [container(running, true)];
    const status = composeStatus(aPod("Always"), { ...at, initContainers: [], containers }, "now");
    expect(readyOf(status)).toEqual({ type: "Ready", status: "True", lastTransitionTime: "now" });
  });

  test("not while one is not: it is named", () => {
    const containers = [container(running, true), { ...container(running), name: "slow" }];
    const status = composeStatus(aPod("Always"), { ...at, initContainers: [], containers }, "now");
    expect(readyOf(status)).toMatchObject({
      status: "False",
      reason: "ContainersNotReady",
      message: "containers with unready status: [slow]",
    });
  });

  test("not when it has ended", () => {
    const containers = [container(ended(0))];
    const status = composeStatus(aPod("Never"), { ...at, initContainers: [], containers }, "now");
    expect(readyOf(status)).toMatchObject({ status: "False", reason: "PodCompleted" });
  });
});

test("a condition keeps its time until its status changes, and the Pod the time of its start", () => {
  const state = { ...at, initContainers: [], containers: [container(running, true)] };
  const first = composeStatus(aPod("Always"), state, "first");
  const same = composeStatus(aPod("Always", first), state, "second");
  expect(same).toEqual(first);
  const unready = { ...state, containers: [container(running)] };
  const changed = composeStatus(aPod("Always", first), unready, "third");
  expect(readyOf(changed)?.lastTransitionTime).toBe("third");
  expect(changed.startTime).toBe("first");
});
