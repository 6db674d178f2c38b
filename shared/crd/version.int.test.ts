import { describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterKind } from "./cluster.ts";
import { isWithinOneMinor } from "./kubernetes-version.ts";
import { bothReturn, objectOf, openTestApi, rejectionOf } from "./testing.ts";

const tooOld =
  "spec.version: Invalid value: must not be older than the version that the cluster runs (status.version)";
const tooNew =
  "spec.version: Invalid value: must be at most one minor version newer than the version that the cluster runs (status.version)";

const steps: { running: string; wanted: string; rejected?: string }[] = [
  { running: "1.34.2", wanted: "1.34.3" },
  { running: "1.34.2", wanted: "v1.34.2" },
  { running: "1.34.2", wanted: "1.34" },
  { running: "1.34.2", wanted: "1.35" },
  { running: "1.34.2", wanted: "v1.35.0" },
  { running: "v1.34.2", wanted: "1.35.9" },
  { running: "1.9.9", wanted: "1.10.0" },
  { running: "1.34.2", wanted: "1.34.1", rejected: tooOld },
  { running: "1.34.10", wanted: "1.34.9", rejected: tooOld },
  { running: "1.34.2", wanted: "1.33.9", rejected: tooOld },
  { running: "1.34.2", wanted: "1.33", rejected: tooOld },
  { running: "1.10.0", wanted: "1.9.9", rejected: tooOld },
  { running: "1.34.2", wanted: "0.99.9", rejected: tooOld },
  { running: "1.34.2", wanted: "1.36.0", rejected: tooNew },
  { running: "1.34.2", wanted: "1.36", rejected: tooNew },
  { running: "1.34.2", wanted: "2.0.0", rejected: tooNew },
  { running: "1.34.2", wanted: "2.34.3", rejected: tooNew },
];

/** A version that no case requests, so that every case is a change. */
const ELSE = "1.34.99";

const api = setUp(openTestApi);

const at = (name: string) => [clusterKind, api.namespace, name] as const;
const written = { fieldManager: "test" };

/** With an unknown plan, so that a running operator does not act on it. */
function storeCluster(name: string, version: string) {
  const object = objectOf(clusterKind, { name, namespace: api.namespace }, { version, plan: "no-such-plan" });
  return api.client.create(clusterKind, object, written);
}

function writeRunningVersion(name: string, version: string) {
  const options = { ...written, subresource: "status" as const };
  return rejectionOf(api.client.mergePatch(...at(name), { status: { version } }, options));
}

/**
 * The rejection of the wanted version while the status reports `running`; repeated when an operator wrote in between.
 */
async function askWhileRunning(name: string, running: string, wanted: string): Promise<string | undefined> {
  await writeRunningVersion(name, running);
  const patch = { spec: { version: wanted } };
  const rejection = await rejectionOf(
    api.client.mergePatch(...at(name), patch, { ...written, dryRun: true }),
  );
  const stored = await api.client.get(...at(name));
  return stored?.status?.version === running ? rejection : askWhileRunning(name, running, wanted);
}

describe("a cluster", () => {
  test.each(steps.map((step, index) => ({ ...step, name: `step-${index}` })))(
    "at $running may request $wanted",
    async ({ name, running, wanted, rejected }) => {
      await storeCluster(name, ELSE);
      const rejection = await askWhileRunning(name, running, wanted);
      await api.client.delete(...at(name));
      expect({ rejection, accepted: isWithinOneMinor(running, wanted) }).toEqual(bothReturn(rejected));
    },
  );
});

test("a status with a version far from the requested one is accepted", async () => {
  await storeCluster("drifted", "1.30.0");
  expect(await writeRunningVersion("drifted", "1.99.0")).toBeUndefined();
  const patch = { spec: { displayName: "Shop" } };
  expect(await rejectionOf(api.client.mergePatch(...at("drifted"), patch, written))).toBeUndefined();
  await api.client.delete(...at("drifted"));
});

test("a cluster without a version in its status accepts any version", async () => {
  await storeCluster("new", "1.30");
  const patch = { spec: { version: "1.36" } };
  expect(
    await rejectionOf(api.client.mergePatch(...at("new"), patch, { ...written, dryRun: true })),
  ).toBeUndefined();
  await api.client.delete(...at("new"));
});
