import { expect, test } from "vitest";
import { backoffSeconds, isStartedAgain } from "./container.ts";
import { composeTerminationMessage, toExitCode } from "./container-process.ts";
import { createProbeCounter, resolvePort } from "./probes.ts";

const none = undefined;

test.each<[string, { successThreshold?: number; failureThreshold?: number }, boolean[], unknown[]]>([
  ["one success is enough by default", {}, [true], ["success"]],
  ["three failures by default", {}, [false, false, false], [none, none, "failure"]],
  [
    "a success between starts the count again",
    {},
    [false, false, true, false],
    [none, none, "success", none],
  ],
  ["it goes on telling", { failureThreshold: 1 }, [false, false], ["failure", "failure"]],
  ["a success threshold", { successThreshold: 2 }, [true, true], [none, "success"]],
])("results of a probe in a row: %s", (_, probe, results, expected) => {
  const counter = createProbeCounter(probe);
  expect(results.map((result) => counter.add(result))).toEqual(expected);
});

test("a port is a number, or the name of one of the container's", () => {
  const ports = [{ name: "http", containerPort: 8080 }];
  expect([resolvePort(81, ports), resolvePort("http", ports)]).toEqual([81, 8080]);
  expect(() => resolvePort("metrics", ports)).toThrow("the container has no port metrics");
});

test("a container is started again at once, then after 10 s, doubling to five minutes", () => {
  expect([1, 2, 3, 4, 7, 20].map(backoffSeconds)).toEqual([0, 10, 20, 40, 300, 300]);
});

test.each([
  ["Always", 0, true],
  ["Always", 1, true],
  ["OnFailure", 0, false],
  ["OnFailure", 1, true],
  ["Never", 1, false],
] as const)("restart policy %s after code %i: %s", (policy, code, expected) => {
  expect(isStartedAgain(policy, code)).toBe(expected);
});

test.each([
  [0, null, 0],
  [3, null, 3],
  [null, "SIGKILL", 137],
  [null, "SIGTERM", 143],
] as const)("code %s and signal %s are the exit code %i", (code, signal, expected) => {
  expect(toExitCode(code, signal)).toBe(expected);
});

test.each([
  ["what was written", "said", "log", 1, "said"],
  ["the end of the log after a failure", "", "log", 1, "log"],
  ["nothing after a success", "", "log", 0, undefined],
])("the termination message is %s", (_, written, log, exitCode, expected) => {
  const policy = "FallbackToLogsOnError";
  expect(composeTerminationMessage(written, log, { exitCode, policy })).toBe(expected);
});

test("the termination message holds the last lines of a long log, and none of it by the other policy", () => {
  const log = Array.from({ length: 5000 }, (_, line) => `line ${line}`).join("\n");
  const message = composeTerminationMessage("", log, { exitCode: 1, policy: "FallbackToLogsOnError" }) ?? "";
  expect(message.endsWith("line 4999")).toBe(true);
  expect(message.length).toBeLessThanOrEqual(2048);
  expect(composeTerminationMessage("", log, { exitCode: 1, policy: "File" })).toBeUndefined();
});
