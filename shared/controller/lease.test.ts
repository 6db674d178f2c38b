import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Lease } from "../kube/core-kinds.ts";
import { KubeError } from "../kube/errors.ts";
import { createLogger } from "../program/log.ts";
import { createLeaderElection, type LeaderElection } from "./lease.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-02T03:04:05.678Z") });
});
let running: LeaderElection[] = [];
afterEach(async () => {
  for (const election of running) void election.release();
  running = [];
  await vi.advanceTimersByTimeAsync(60_000);
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const unreachable = () =>
  Promise.reject(new KubeError({ status: 0, reason: "Unreachable", kubeMessage: "down" }));
const conflict = () =>
  Promise.reject(new KubeError({ status: 409, reason: "Conflict", kubeMessage: "moved" }));

let version = 1;
const lease = (holderIdentity: string, leaseDurationSeconds = 15): Lease => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { namespace: "n", name: "l", resourceVersion: String(version++) },
  spec: { holderIdentity, leaseDurationSeconds, leaseTransitions: 4 },
});

/** A candidate "me" whose API returns these responses. */
function startCandidate(
  responses: { get: () => Promise<Lease | undefined>; write?: () => Promise<Lease> },
  leaseDurationMs?: number,
) {
  const api = {
    get: vi.fn<() => Promise<Lease | undefined>>(responses.get),
    create: vi.fn<() => Promise<Lease>>(responses.write ?? (async () => lease("me"))),
    mergePatch: vi.fn<() => Promise<Lease>>(responses.write ?? (async () => lease("me"))),
  };
  const transitions: string[] = [];
  const election = createLeaderElection({
    client: api as never,
    namespace: "n",
    name: "l",
    identity: "me",
    fieldManager: "test",
    leaseDurationMs,
    onLeader(leads) {
      if (leads) transitions.push("started");
    },
    onLost: () => transitions.push("lost"),
    log: createLogger({ name: "test", level: "silent" }),
  });
  running.push(election);
  election.start();
  const patches = () =>
    api.mergePatch.mock.calls.map((call: unknown[]) => call[3] as { metadata: object; spec: object });
  return { api, transitions, election, patches };
}

test("those who wait for the lead wait without a timer of their own, until it is there or they give up", async () => {
  let holder = "other";
  const { election } = startCandidate({ get: async () => lease(holder) });
  await pass(0);
  const ended: string[] = [];
  const timers = vi.getTimerCount();
  const giveUp = new AbortController();
  void election.untilLeader(new AbortController().signal).then(() => ended.push("leads"));
  void election.untilLeader(giveUp.signal).then(() => ended.push("gave up"));
  expect(vi.getTimerCount()).toBe(timers);
  giveUp.abort();
  await pass(5_000);
  expect(ended).toEqual(["gave up"]);
  holder = "";
  await pass(5_000);
  expect(ended).toEqual(["gave up", "leads"]);
  await election.untilLeader(new AbortController().signal);
});

test("an absent Lease is created, and then renewed every 2 s in one call each", async () => {
  const { api, transitions, election } = startCandidate({ get: async () => undefined });
  await pass(0);
  expect(election.isLeader()).toBe(true);
  expect(transitions).toEqual(["started"]);
  expect(api.create.mock.calls).toHaveLength(1);
  await pass(6_000);
  expect(api.mergePatch).toHaveBeenCalledTimes(3);
  expect(api.get).toHaveBeenCalledTimes(1);
});

test("a released Lease is acquired at once, against the version read, with microseconds", async () => {
  const free = lease("", 1);
  const { election, patches } = startCandidate({ get: async () => free });
  await pass(0);
  expect(election.isLeader()).toBe(true);
  expect(patches()[0]).toEqual({
    metadata: { resourceVersion: free.metadata.resourceVersion },
    spec: {
      holderIdentity: "me",
      leaseDurationSeconds: 15,
      renewTime: "2026-01-02T03:04:05.678000Z",
      acquireTime: "2026-01-02T03:04:05.678000Z",
      leaseTransitions: 5,
    },
  });
});

test("a Lease of another holder is taken only when it did not change for its whole duration", async () => {
  const held = lease("other");
  const { election } = startCandidate({ get: async () => held });
  await pass(14_900);
  expect(election.isLeader()).toBe(false);
  await pass(3_200);
  expect(election.isLeader()).toBe(true);
});

test("a Lease that is renewed is never taken, whatever its own times say", async () => {
  const { election } = startCandidate({ get: async () => lease("other") });
  await pass(120_000);
  expect(election.isLeader()).toBe(false);
});

test("a candidate that lost the race does not lead", async () => {
  const free = lease("");
  const { election, transitions } = startCandidate({ get: async () => free, write: conflict });
  await pass(10_000);
  expect(election.isLeader()).toBe(false);
  expect(transitions).toEqual([]);
});

test.each([
  { duration: "15 s", leaseDurationMs: undefined, leadsForMs: 10_000 },
  { duration: "60 s", leaseDurationMs: 60_000, leadsForMs: 40_000 },
])(
  "a leader that cannot renew a Lease of $duration stops leading $leadsForMs ms after its last renewal, before another may take over",
  async ({ leaseDurationMs, leadsForMs }) => {
    let write: () => Promise<Lease> = async () => lease("me");
    const responses = { get: async () => undefined, write: () => write() };
    const { election, transitions } = startCandidate(responses, leaseDurationMs);
    await pass(0);
    write = unreachable;
    await pass(leadsForMs - 100);
    expect(election.isLeader()).toBe(true);
    await pass(200);
    expect(election.isLeader()).toBe(false);
    await pass(2_000);
    expect(transitions).toEqual(["started", "lost"]);
  },
);

test("a leader whose renewal hangs stops leading at its deadline", async () => {
  let write: () => Promise<Lease> = async () => lease("me");
  const { election } = startCandidate({ get: async () => undefined, write: () => write() });
  await pass(0);
  write = () => new Promise(() => undefined);
  await pass(10_001);
  expect(election.isLeader()).toBe(false);
});

test("a leader reads the Lease again after a failed write and keeps leading when it still holds it", async () => {
  const writes: (() => Promise<Lease>)[] = [async () => lease("me"), unreachable];
  let current: Lease | undefined;
  const { api, election, transitions } = startCandidate({
    get: async () => current,
    write: () => (writes.shift() ?? (async () => lease("me")))(),
  });
  await pass(0);
  current = lease("me");
  await pass(4_000);
  expect(api.get).toHaveBeenCalledTimes(2);
  expect(election.isLeader()).toBe(true);
  expect(transitions).toEqual(["started"]);
});

test("a leader that finds another holder in the Lease stops leading", async () => {
  const writes: (() => Promise<Lease>)[] = [async () => lease("me"), conflict];
  let current: Lease | undefined;
  const { election, transitions } = startCandidate({
    get: async () => current,
    write: () => (writes.shift() ?? conflict)(),
  });
  await pass(0);
  current = lease("other");
  await pass(4_000);
  expect(transitions).toEqual(["started", "lost"]);
  expect(election.isLeader()).toBe(false);
});

test("a release clears the holder and is not reported as a loss", async () => {
  const { election, transitions, patches } = startCandidate({ get: async () => undefined });
  await pass(0);
  await election.release();
  expect(patches().at(-1)?.spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
  expect(election.isLeader()).toBe(false);
  expect(transitions).toEqual(["started"]);
});

test.each([
  ["is ours is released, against the version that it has now", "me", 1],
  ["has another holder by then stays so", "other", 0],
])("after a renewal without a response a Lease that %s", async (_name, holder, released) => {
  let current = lease("");
  let write = async () => lease("me");
  const { election, patches } = startCandidate({ get: async () => current, write: () => write() });
  await pass(0);
  write = unreachable;
  await pass(2_000);
  const before = patches().length;
  write = async () => lease("");
  current = lease(holder);
  await election.release();
  const { resourceVersion } = current.metadata;
  const expected = { metadata: { resourceVersion }, spec: { holderIdentity: "" } };
  expect(patches().slice(before)).toMatchObject(Array(released).fill(expected));
});

test("a candidate that never led releases nothing", async () => {
  const { api, election } = startCandidate({ get: async () => lease("other") });
  await pass(0);
  await election.release();
  expect(api.mergePatch).not.toHaveBeenCalled();
});
