import { expect, test } from "vitest";
import { FINALIZER } from "../decision.ts";
import type { FrontState } from "../front/fronts.ts";
import type { LocalCluster } from "../kinds.ts";
import { type ObservedCluster, reconcileCluster } from "./reconcile.ts";

const ENDPOINT = { host: "127.0.0.1", port: 30_200 };

function observe(
  changes: Partial<ObservedCluster> = {},
  spec: LocalCluster["spec"] = { controlPlaneEndpoint: ENDPOINT, workerSubnet: "10.64.3.0/24" },
): ObservedCluster {
  return {
    object: {
      apiVersion: "local.marina.dev/v1alpha1",
      kind: "LocalCluster",
      metadata: { name: "one-x", namespace: "org", generation: 1, finalizers: [FINALIZER] },
      spec,
    },
    ownerName: "one",
    freePort: undefined,
    front: undefined,
    targetPort: 30_300,
    apiResponded: true,
    apiReady: true,
    platformCIDRs: ["127.0.0.1/32"],
    now: new Date("2026-01-01T00:00:00Z"),
    ...changes,
  };
}

/** The state of the front after the first decision was carried out. */
function opened(observed: ObservedCluster, changes: Partial<FrontState> = {}): FrontState {
  const [effect] = reconcileCluster(observed).effects;
  if (effect?.do !== "open") throw new Error("nothing was opened");
  return { spec: effect.spec, listening: true, counts: { admitted: 0, refused: 0, limited: 0 }, ...changes };
}

test("nothing is done before Cluster API owns it", () => {
  const { effects, plan } = reconcileCluster(observe({ ownerName: undefined }));
  expect([effects, plan.write, plan.metadata, plan.status]).toEqual([[], [], undefined, undefined]);
});

test("a cluster without an address gets a free port, and nothing is opened yet", () => {
  const { effects, plan } = reconcileCluster(observe({ freePort: 30_111 }, {}));
  expect(effects).toEqual([]);
  expect(plan.write).toMatchObject([
    { object: { spec: { controlPlaneEndpoint: { host: "127.0.0.1", port: 30_111 } } } },
  ]);
});

test("without a free port it is tried again", () => {
  const { plan } = reconcileCluster(observe({}, {}));
  expect([plan.write, plan.requeueAfterMs]).toEqual([[], 5000]);
});

const trusted = ["127.0.0.1/32", "10.64.3.0/24"];
const limit = { maxConnectionsPerSecond: 5, burst: 10 };
test.each([
  { name: "public: anybody", spec: {}, rules: { trusted } },
  {
    name: "listed sources",
    spec: { authorizedCIDRs: ["192.0.2.0/24"] },
    rules: { trusted, allowed: ["192.0.2.0/24"] },
  },
  { name: "an empty list: no one else", spec: { authorizedCIDRs: [] }, rules: { trusted, allowed: [] } },
  { name: "private: no one else", spec: { publicEndpoint: false }, rules: { trusted, allowed: [] } },
  {
    name: "private, whatever is listed",
    spec: { publicEndpoint: false, authorizedCIDRs: ["0.0.0.0/0"] },
    rules: { trusted, allowed: [] },
  },
  { name: "limited", spec: { apiServerRateLimit: limit }, rules: { trusted, limit } },
])("the front's rules: $name", ({ spec, rules }) => {
  const observed = observe({}, { controlPlaneEndpoint: ENDPOINT, workerSubnet: "10.64.3.0/24", ...spec });
  expect(reconcileCluster(observed).effects).toEqual([
    { do: "open", spec: { ...ENDPOINT, targetPort: 30_300, held: false, rules } },
  ]);
});

test.each([
  { apiReady: true, heldBefore: true, held: false },
  { apiReady: false, heldBefore: false, held: true },
  { apiReady: undefined, heldBefore: false, held: false },
  { apiReady: undefined, heldBefore: true, held: true },
])(
  "connections wait while the API is not ready: $apiReady, before $heldBefore",
  ({ apiReady, heldBefore, held }) => {
    const before = opened(observe({ apiReady: !heldBefore }));
    const { effects } = reconcileCluster(observe({ apiReady, front: before, targetPort: 30_301 }));
    expect(effects).toMatchObject([{ spec: { held } }]);
  },
);

test.each([
  { name: "listening and responded", changes: {}, front: {}, provisioned: true, ready: "True" },
  { name: "no response yet", changes: { apiResponded: false }, front: {}, provisioned: false, ready: "True" },
  {
    name: "port taken",
    changes: {},
    front: { listening: false, error: "taken" },
    provisioned: false,
    ready: "False",
  },
])("status: $name", ({ changes, front, provisioned, ready }) => {
  const observed = observe(changes);
  const { plan } = reconcileCluster({ ...observed, front: opened(observed, front) });
  expect(plan.status).toMatchObject({
    initialization: { provisioned },
    conditions: [{ type: "Ready", status: ready }],
  });
});

test("a front that is as wanted is left alone, and looked at again after 10 s", () => {
  const observed = observe();
  const { effects, plan } = reconcileCluster({ ...observed, front: opened(observed) });
  expect([effects, plan.requeueAfterMs]).toEqual([[], 10_000]);
});

test("a taken port is tried again after 5 s", () => {
  const observed = observe();
  const front = opened(observed, { listening: false, error: "port 30200 is in use by another program" });
  const { effects, plan } = reconcileCluster({ ...observed, front });
  expect(effects).toMatchObject([{ do: "open" }]);
  expect(plan.requeueAfterMs).toBe(5000);
  expect(plan.status?.conditions?.[0]).toMatchObject({
    reason: "PortTaken",
    message: expect.stringContaining("30200"),
  });
});

test("a deleted cluster closes its front and goes", () => {
  const observed = observe();
  const metadata = { ...observed.object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
  const { effects, plan } = reconcileCluster({ ...observed, object: { ...observed.object, metadata } });
  expect([effects, plan.releaseFinalizer]).toEqual([[{ do: "close" }], true]);
});
