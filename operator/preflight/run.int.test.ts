import { expect, test } from "vitest";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { createEngineer } from "../../e2e/testing/custom-resources.ts";
import { PACKAGES_CONFIG_MAP, PACKAGES_KEY } from "../../shared/crd/names.ts";
import { NO_OTHER_LABEL } from "../../shared/crd/node-metadata.ts";
import { openTestApi } from "../../shared/crd/testing.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { settings } from "../testing.ts";
import { checkInstallation, reportInstallation } from "./run.ts";

const absent = { class: "absent", namespace: settings.platformNamespace, controlPlaneReplicas: 1 };
const config = {
  settings: { ...settings, plans: { absent }, autoscalerImage: undefined, syncedNodeLabels: /.*/ },
};

function open() {
  return createTransport({ connection: loadConnection(process.env.MARINA_TEST_KUBECONFIG) });
}

test("a complete installation is ok, but for its only plan, which has no class", async () => {
  const transport = open();
  const checks = await checkInstallation(transport, config);
  await transport.close();
  const states = Object.fromEntries(checks.map(({ about, state }) => [about, state]));
  expect(states).toMatchObject({
    kubernetes: "ok",
    kinds: "ok",
    rights: "ok",
    gates: "ok",
    "plan absent": "failed",
    autoscaler: "warning",
    networks: "ok",
  });
});

test("packages that cannot be read are a failure, and the rest is still looked at", async () => {
  const api = await openTestApi();
  const { client, namespace } = api;
  const metadata = { namespace, name: PACKAGES_CONFIG_MAP };
  await client.create(configMapKind, { metadata, data: { [PACKAGES_KEY]: "{" } }, { fieldManager: "test" });
  const transport = open();
  const told = { settings: { ...config.settings, platformNamespace: namespace } };
  const checks = await checkInstallation(transport, told);
  await transport.close();
  await api.close();
  expect(checks.find(({ about }) => about === "packages")).toMatchObject({
    state: "failed",
    text: expect.stringContaining(`${namespace}/${PACKAGES_CONFIG_MAP} is invalid`),
  });
  expect(checks.map(({ about }) => about)).toContain("plan absent");
});

test("the operator logs at its start what keeps clusters back", async () => {
  const transport = open();
  const warnings: string[] = [];
  const warn = (...said: unknown[]) => {
    warnings.push(String(said[1]));
  };
  await reportInstallation(transport, config, { warn, info: () => undefined });
  await transport.close();
  expect(warnings).toEqual([
    expect.stringContaining("The cluster class absent of the plan absent is not installed."),
  ]);
});

test("whether labels of node pools reach nodes is decided by what a node has", async () => {
  const engineer = await createEngineer(readStack());
  await engineer.createCluster("labelled", {});
  await engineer.createPool("workers", "labelled", {});
  await waitFor("a node", async () => (await engineer.getCluster("labelled")).status?.nodes?.ready === 1);
  const transport = open();
  const labelsAre = async (syncedNodeLabels: RegExp) => {
    const told = { settings: { ...config.settings, syncedNodeLabels } };
    const checks = await checkInstallation(transport, told);
    return checks.find(({ about }) => about === "labels");
  };
  // Clusters of other tests are newer for a moment, and their API servers may not respond.
  const waitForLabels = (settings: RegExp, state: string) =>
    waitFor(`labels to be ${state}`, async () => {
      const check = await labelsAre(settings);
      return check?.state === state ? check : undefined;
    });
  expect((await waitForLabels(/.*/, "ok")).text).toContain("reach nodes");
  // The stack's Cluster API has the flag.
  await waitForLabels(NO_OTHER_LABEL, "warning");
  await transport.close();
  await engineer.close();
});
