import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findFreePort } from "../../e2e/platform/programs/free-port.ts";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { createEngineer } from "../../e2e/testing/custom-resources.ts";
import {
  PACKAGES_CONFIG_MAP,
  PACKAGES_KEY,
  VERSION_CATALOGUE_CONFIG_MAP,
  VERSION_CATALOGUE_KEY,
} from "../../shared/crd/names.ts";
import { NO_OTHER_LABEL } from "../../shared/crd/node-metadata.ts";
import { openTestApi } from "../../shared/crd/testing.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { configMapKind, deploymentKind } from "../../shared/kube/core-kinds.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { Config } from "../config.ts";
import { planSubnetAllocation } from "../subnets/allocation.ts";
import { parseSubnetRange } from "../subnets/range.ts";
import { settings } from "../testing.ts";
import { formatCheck } from "./checks.ts";
import { checkCoreManagers, checkManagementNetworks } from "./management.ts";
import { checkInstallation, reportInstallation } from "./run.ts";

const absent = { class: "absent", namespace: settings.platformNamespace, controlPlaneReplicas: 1 };
const config = {
  settings: { ...settings, servicePlans: { absent }, autoscalerImage: undefined, syncedNodeLabels: /.*/ },
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

const nodeKind = defineKind<KubeObject & { spec: object }>({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  namespaced: false,
});

test("the version of Cluster API, free networks and the images are told by what the management cluster has", async () => {
  const api = await openTestApi();
  const { client, namespace } = api;
  const by = { fieldManager: "test" };
  const node = `preflight-${namespace}`;
  const range = { subnetRange: parseSubnetRange("10.77.0.0/16") };
  const labels = { "cluster.x-k8s.io/provider": "cluster-api" };
  const image = "registry.example.com/core:v1.14.9";
  const template = { metadata: { labels }, spec: { containers: [{ name: "manager", image }] } };
  const manager = { replicas: 0, selector: { matchLabels: labels }, template };
  await client.create(deploymentKind, { metadata: { namespace, name: "core", labels }, spec: manager }, by);
  const podCIDRs = { podCIDR: "10.77.4.0/24", podCIDRs: ["10.77.4.0/24"], unschedulable: true };
  await client.create(nodeKind, { metadata: { name: node }, spec: podCIDRs }, by);
  for (const subnet of ["10.77.1.0/24", "10.77.2.0/24"]) {
    const step = planSubnetAllocation(namespace, subnet, randomUUID());
    if (step.verb === "create") await client.create(step.kind, step.object, by);
  }
  const transport = open();
  const look = async (changes: Partial<Config["settings"]>) => {
    const told = { settings: { ...config.settings, platformNamespace: namespace, ...range, ...changes } };
    return (await checkInstallation(transport, told)).map(formatCheck).join("\n");
  };
  const autoscalerImage = `localhost:${await findFreePort()}/ca:v{minor}.0`;
  const first = await look({ autoscalerImage });
  const data = {
    [VERSION_CATALOGUE_KEY]: JSON.stringify([{ version: "1.34.2", status: "supported" }]),
  };
  await client.create(
    configMapKind,
    { metadata: { namespace, name: VERSION_CATALOGUE_CONFIG_MAP }, data },
    by,
  );
  const second = await look({ autoscalerImage, subnetRange: parseSubnetRange("10.0.0.0/16") });
  await client.delete(nodeKind, undefined, node);
  await transport.close();
  await api.close();
  expect(first).toMatch(/^ok +cluster api: .*v1\.14\.9 \(Deployment \S+\/core\)/m);
  expect(first).toMatch(/^warning +ranges: .*10\.77\.0\.0\/16 of nodes overlaps 10\.77\.4\.0\/24/m);
  expect(first).toMatch(/^ok +subnets: 2 of the 256 networks of nodes in 10\.77\.0\.0\/16 are taken/m);
  expect(first).toMatch(/^unknown image: .*offers no valid version/m);
  // The Services of the stack's management cluster.
  expect(second).toMatch(/^warning +ranges: .*10\.0\.0\.0\/16 of nodes overlaps 10\.0\.0\.0\/24/m);
  expect(second).toMatch(/^unknown image: Whether localhost:\d+ has localhost:\d+\/ca:v1\.34\.0 could not/m);
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

test("what the operator may not read of the management cluster is unknown, and the line says which right is missing", async () => {
  const api = await openTestApi();
  const user = `preflight:${api.namespace}`;
  const inNamespace = ["--namespace", api.namespace];
  const read = ["--verb=get,list", "--resource=configmaps"];
  await api.kubectl("create", "role", "locks", ...read, ...inNamespace);
  await api.kubectl("create", "rolebinding", "locks", "--role=locks", `--user=${user}`, ...inNamespace);
  const connection = loadConnection(process.env.MARINA_TEST_KUBECONFIG);
  const readHeaders = async () => ({ ...(await connection.readHeaders?.()), "impersonate-user": user });
  const transport = createTransport({ connection: { ...connection, readHeaders } });
  const client = createClient(transport);
  const told = { ...config.settings, platformNamespace: api.namespace };
  const checks = [await checkCoreManagers(client), ...(await checkManagementNetworks(client, told))];
  await transport.close();
  await api.close();
  expect(checks).toMatchObject([
    { state: "unknown", about: "cluster api", text: expect.stringContaining("may not list Deployments") },
    {
      state: "unknown",
      about: "ranges",
      text: expect.stringContaining("may not list nodes and servicecidrs"),
    },
    { state: "ok", about: "subnets" },
  ]);
});

test("docs/operators/install.md lists every line", async () => {
  const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "operators", "install.md"), "utf8");
  const transport = open();
  const autoscalerImage = `localhost:${await findFreePort()}/ca:v1`;
  const checks = await checkInstallation(transport, { settings: { ...config.settings, autoscalerImage } });
  await transport.close();
  const lines = new Set(checks.map(({ about }) => about.replace(/^plan .*/, "plan <name>")));
  const documented = [...page.matchAll(/^\| `([\w <>]+)` +\| .+\|$/gm)].map(([, name]) => name);
  // Only a failure has it.
  expect(documented).toEqual(expect.arrayContaining([...lines, "packages"]));
  expect(documented.filter((name) => name !== "packages" && !lines.has(name ?? ""))).toEqual([]);
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
