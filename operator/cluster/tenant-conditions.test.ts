import { expect, test } from "vitest";
import { BINDINGS_FAILED, TENANT_UNAVAILABLE, type TenantFailure } from "../cluster-access/status.ts";
import type { ObservedCluster } from "./observe.ts";
import {
  composeForeignAdmins,
  decideAccess,
  decideRegistered,
  findAccessReportMs,
} from "./tenant-conditions.ts";
import { aCluster, observeBlue } from "./testing.ts";

const NOW = new Date("2026-05-01T12:00:00Z");
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);

type Attempts = ObservedCluster["access"]["attempts"];

const GOOD: Attempts = { kubeconfig: {}, bindings: {} };
const failing = (message: string, seconds: number, isUnreachable = false) => ({
  failure: { message, isUnreachable, since: ago(seconds) },
});

function observe(attempts: Attempts = GOOD, failures: readonly TenantFailure[] = []): ObservedCluster {
  return observeBlue({ access: { attempts, failures, tenantFindings: {} } });
}

function withLast(reason: string, attempts: Attempts): ObservedCluster {
  const observed = observe(attempts);
  const last = { type: "AccessReady" as const, status: "False" as const, reason, message: "It failed." };
  const condition = { ...last, lastTransitionTime: ago(60).toISOString(), observedGeneration: 1 };
  const status = {
    ...observed.cluster.status,
    conditions: [condition],
  } as ObservedCluster["cluster"]["status"];
  return { ...observed, cluster: { ...observed.cluster, status } as ObservedCluster["cluster"] };
}

const DELETED = { metadata: { ...aCluster().metadata, deletionTimestamp: ago(1).toISOString() } };

test.each<[string, ObservedCluster]>([
  ["the control plane is not up", { ...observeBlue(), capi: undefined }],
  ["kubeconfigs are issued", observe()],
  ["it has failed for a moment only", observe({ ...GOOD, bindings: failing("connection refused", 9, true) })],
  ["it works again", withLast("BindingsFailed", GOOD)],
  ["the cluster is being deleted", observeBlue({ cluster: aCluster({}, DELETED) })],
])("there is no condition of access while %s", (_name, observed) => {
  expect(decideAccess(observed, NOW)).toBeUndefined();
});

const rows: [string, ObservedCluster, string, string, RegExp][] = [
  [
    "when the tenant's API does not respond",
    observe({ ...GOOD, bindings: failing("connection refused", 10, true) }),
    "False",
    "TenantAPIUnreachable",
    /connection refused.*ask the platform's operator/,
  ],
  [
    "when the tenant's API refuses the bindings",
    observe({ ...GOOD, bindings: failing("forbidden by a webhook", 10) }),
    "False",
    "BindingsFailed",
    /forbidden by a webhook/,
  ],
  [
    "when the kubeconfig cannot be issued",
    observe({ kubeconfig: failing("the CA has no key", 10), bindings: failing("refused", 10, true) }),
    "False",
    "CredentialsFailed",
    /^The admin kubeconfig of blue cannot be issued\. If this lasts/,
  ],
  [
    "when accesses wait for the tenant's API",
    observe(GOOD, [TENANT_UNAVAILABLE, BINDINGS_FAILED, TENANT_UNAVAILABLE]),
    "False",
    "TenantAPIUnreachable",
    /does not respond: 2\./,
  ],
  [
    "when the tenant's API refuses the rights of some kubeconfigs",
    observe(GOOD, [BINDINGS_FAILED]),
    "False",
    "BindingsFailed",
    /refuses: 1\./,
  ],
  [
    "that a new process has not tried",
    withLast("BindingsFailed", { kubeconfig: {} }),
    "False",
    "BindingsFailed",
    /It failed/,
  ],
];

test.each(rows)("the condition of access %s", (_name, observed, status, reason, message) => {
  expect(decideAccess(observed, NOW)).toMatchObject({
    type: "AccessReady",
    status,
    reason,
    message: expect.stringMatching(message),
  });
});

test("a failure that is not reported yet is looked at again when it is due", () => {
  expect(findAccessReportMs(observe({ ...GOOD, bindings: failing("refused", 4) }), NOW)).toBe(6_000);
  expect(findAccessReportMs(observe({ ...GOOD, bindings: failing("refused", 10) }), NOW)).toBeUndefined();
  expect(findAccessReportMs(observe(), NOW)).toBeUndefined();
});

const AT = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T01:00:00Z";
const NONE = { count: 0, names: [] };
const ONE = { count: 1, names: ["ann"] };

test.each([
  [
    "what a new process has not read stays",
    { ...ONE, observedAt: AT },
    undefined,
    { ...ONE, observedAt: AT },
  ],
  [
    "what is the same keeps its time",
    { ...ONE, observedAt: AT },
    { ...ONE, observedAt: LATER },
    { ...ONE, observedAt: AT },
  ],
  [
    "what differs has its own",
    { ...ONE, observedAt: AT },
    { ...NONE, observedAt: LATER },
    { ...NONE, observedAt: LATER },
  ],
  ["nothing is said before it was read", undefined, undefined, undefined],
])("the administrators in a status: %s", (_, last, found, expected) => {
  expect(composeForeignAdmins(last, found)).toEqual(expected);
});

test.each([
  ["which is written of all that it asks for", "True", ["fluxSecret", "argoCDSecret"], "True"],
  ["to which a part was added since", "True", ["fluxSecret"], "Unknown"],
  ["of which a part fails, and to which another one was added since", "False", ["fluxSecret"], "False"],
] as const)("a registration %s is Registered %s", (_what, status, parts, expected) => {
  const registration = { status, reason: "Found", message: "It is so.", parts };
  const { access, ...observed } = observeBlue({
    cluster: aCluster({ registration: { fluxSecret: true, argoCDSecret: true, clusterProfile: false } }),
  });
  const given = { ...observed, access: { ...access, tenantFindings: { registration } } };
  const reason = expected === "Unknown" ? "Registering" : "Found";
  expect(decideRegistered(given)).toMatchObject({ status: expected, reason });
});
