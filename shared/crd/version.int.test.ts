import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isWithinOneMinor } from "../kubernetes-version.ts";
import { clusterKind } from "./cluster.ts";
import { objectOf, openTestApi, refusalOf, type TestApi } from "./testing.ts";

const tooOld =
  "spec.version: Invalid value: must not be older than the version that the cluster runs (status.version)";
const tooNew =
  "spec.version: Invalid value: must be at most one minor version newer than the version that the cluster runs (status.version)";

const steps: { running: string; wanted: string; refused?: string }[] = [
  { running: "1.34.2", wanted: "1.34.3" },
  { running: "1.34.2", wanted: "v1.34.2" },
  { running: "1.34.2", wanted: "1.34" },
  { running: "1.34.2", wanted: "1.35" },
  { running: "1.34.2", wanted: "v1.35.0" },
  { running: "v1.34.2", wanted: "1.35.9" },
  { running: "1.9.9", wanted: "1.10.0" },
  { running: "1.34.2", wanted: "1.34.1", refused: tooOld },
  { running: "1.34.10", wanted: "1.34.9", refused: tooOld },
  { running: "1.34.2", wanted: "1.33.9", refused: tooOld },
  { running: "1.34.2", wanted: "1.33", refused: tooOld },
  { running: "1.10.0", wanted: "1.9.9", refused: tooOld },
  { running: "1.34.2", wanted: "0.99.9", refused: tooOld },
  { running: "1.34.2", wanted: "1.36.0", refused: tooNew },
  { running: "1.34.2", wanted: "1.36", refused: tooNew },
  { running: "1.34.2", wanted: "2.0.0", refused: tooNew },
  { running: "1.34.2", wanted: "2.34.3", refused: tooNew },
];

/** A wish that no case asks for, so that every case is a change. */
const ELSE = "1.34.99";

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const at = (name: string) => [clusterKind, api.namespace, name] as const;
const written = { fieldManager: "test" };

/**
 * A stored Cluster whose status says that it runs this version. Its plan is unknown on purpose: an operator that
 * watches the same API leaves it alone but for a message.
 */
async function storeCluster(name: string, running: string, wanted: string) {
  const spec = { version: wanted, plan: "no-such-plan" };
  await api.client.create(
    clusterKind,
    objectOf(clusterKind, { name, namespace: api.namespace }, spec),
    written,
  );
  await api.client.mergePatch(
    ...at(name),
    { status: { version: running } },
    { ...written, subresource: "status" },
  );
}

describe("a cluster that runs", () => {
  test.each(steps)("$running is asked to run $wanted", async ({ running, wanted, refused }) => {
    const name = `step-${steps.findIndex((step) => step.running === running && step.wanted === wanted)}`;
    await storeCluster(name, running, ELSE);
    const patch = { spec: { version: wanted } };
    const refusal = await refusalOf(api.client.mergePatch(...at(name), patch, { ...written, dryRun: true }));
    await api.client.delete(...at(name));
    if (refused === undefined) expect(refusal).toBeUndefined();
    else expect(refusal).toContain(refused);
    expect(isWithinOneMinor(running, wanted)).toBe(refused === undefined);
  });
});

test("a status that tells of a version far from the wanted one is written all the same", async () => {
  await storeCluster("drifted", "1.30.0", ELSE);
  const status = { version: "1.99.0" };
  await api.client.mergePatch(...at("drifted"), { status }, { ...written, subresource: "status" });
  const spec = { displayName: "Shop" };
  expect(await refusalOf(api.client.mergePatch(...at("drifted"), { spec }, written))).toBeUndefined();
  await api.client.delete(...at("drifted"));
});

test("a cluster that runs nothing yet may be asked to run anything", async () => {
  const spec = { version: "1.30", plan: "no-such-plan" };
  await api.client.create(
    clusterKind,
    objectOf(clusterKind, { name: "new", namespace: api.namespace }, spec),
    written,
  );
  const patch = { spec: { version: "1.36" } };
  expect(
    await refusalOf(api.client.mergePatch(...at("new"), patch, { ...written, dryRun: true })),
  ).toBeUndefined();
  await api.client.delete(...at("new"));
});
