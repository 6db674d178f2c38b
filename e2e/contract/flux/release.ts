import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { type NextVersion, VERSION, writeImage, writeNextVersion } from "../../install/images.ts";
import { CHART, openRelease, type Release } from "../../install/release.ts";
import { openTenantClusters } from "../../install/tenant-clusters.ts";
import { storyValues } from "../../install/values.ts";
import { ROOT } from "../../platform/stack/marina.ts";
import { createProgress } from "../../platform/stack/progress.ts";
import { type Stack, startStack } from "../../platform/stack/stack.ts";
import { waitFor } from "../../platform/stack/testing.ts";
import { packageChart } from "../../testing/chart.ts";
import { type PlainRegistry, startPlainRegistry } from "../../testing/plain-registry.ts";
import { createTenant, expectStatus } from "../../testing/tenant.ts";
import { startControllers } from "./controllers.ts";

const DIR = join(ROOT, ".marina", "install-flux");
const EXAMPLES = join(ROOT, "examples");
/** The stack has its class here, and so has the example its release. */
const NAMESPACE = "marina-system";
const NEXT: NextVersion = { version: "0.2.0", migrations: { first: "create table story_first (id int)" } };

let stack: Stack;
let release: Release;
let registry: PlainRegistry;
const stops: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  stack = await startStack({
    dir: DIR,
    provider: "local",
    fresh: true,
    parts: "prepared",
    onCrash: "report",
    progress: createProgress(process.stderr),
  });
  stops.push(() => stack.stop());
  await writeImage(DIR);
  registry = await startPlainRegistry(DIR);
  stops.push(() => registry.close());
  release = await openRelease(stack.info, NAMESPACE);
  stops.push(await startControllers(stack.info, NAMESPACE, ["source-controller", "helm-controller"]));
});

afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

/** Publishes a package of the chart, as a release does. */
async function push(file: string): Promise<void> {
  const args = ["push", file, `oci://${registry.host}/charts`, "--plain-http"];
  await promisify(execFile)(stack.info.helm, args);
}

interface HelmRelease {
  metadata: { generation: number };
  status?: {
    conditions?: { type: string; status: string; message: string; observedGeneration: number }[];
    history?: { chartVersion: string; testHooks?: Record<string, { phase?: string }> }[];
  };
}

async function readHelmRelease(): Promise<HelmRelease | undefined> {
  const args = ["get", "helmrelease/marina", "--ignore-not-found", "-o", "json"];
  const text = await release.kubectl(args);
  return text === "" ? undefined : JSON.parse(text);
}

const readyOf = (object: HelmRelease | undefined) =>
  object?.status?.conditions?.find(({ type }) => type === "Ready");

/** Has both controllers look now. */
async function reconcile(): Promise<void> {
  const now = `reconcile.fluxcd.io/requestedAt=${new Date().toISOString()}`;
  for (const name of ["ocirepository/marina", "helmrelease/marina"])
    await release.kubectl(["annotate", name, now, "--overwrite"]);
}

/** Until Flux says that this version is installed, and has passed what helm tests. */
async function untilReady(version: string): Promise<void> {
  await waitFor(
    `Ready=True of ${version}`,
    async () => {
      const object = await readHelmRelease();
      const ready = readyOf(object);
      const [last] = object?.status?.history ?? [];
      const phases = Object.values(last?.testHooks ?? {}).map(({ phase }) => phase);
      const isTested = phases.length === 2 && phases.every((phase) => phase === "Succeeded");
      const isReady = ready?.status === "True" && ready.observedGeneration === object?.metadata.generation;
      if (last?.chartVersion.split("+", 1)[0] === version && isTested && isReady) return true;
      throw new Error(JSON.stringify(object?.status));
    },
    { timeoutMs: 800_000 },
  );
}

/** The API answers to a request that reads the database. */
async function expectServed(): Promise<void> {
  const tenant = createTenant(await release.findApiUrl(), stack.info.tokens.alice);
  await waitFor("the API", async () => (await tenant.request("GET", "/me")).status === 200);
}

const readReplicas = () =>
  release.kubectl(["get", "deployment/marina-operator", "-o", "jsonpath={.spec.replicas}"]);

test("a HelmRelease installs Marina from a registry, and is ready when helm's tests have passed", async () => {
  await push(await packageChart(DIR, stack.info.helm, { chart: CHART, version: VERSION }));
  // The Secrets of its extra objects are there already.
  const { extraObjects: _, ...example } = parse(readFileSync(join(EXAMPLES, "values", "flux.yaml"), "utf8"));
  const values = stringify({ ...example, ...storyValues(stack.info) });
  await release.kubectl(["create", "configmap", "marina-values", `--from-literal=values.yaml=${values}`]);
  const text = readFileSync(join(EXAMPLES, "gitops", "marina.yaml"), "utf8");
  for (const document of parseAllDocuments(text.replace("registry.example.com", registry.host))) {
    const object = document.toJS();
    if (object.kind === "OCIRepository") object.spec.insecure = true;
    await release.kubectl(["apply", "-f", "-"], stringify(object));
  }
  await untilReady(VERSION);
  await expectServed();
});

test("what somebody changed by hand is put back", async () => {
  expect(await readReplicas()).toBe("2");
  await release.kubectl(["scale", "deployment/marina-operator", "--replicas=0"]);
  await reconcile();
  await waitFor("the replicas", async () => (await readReplicas()) === "2");
  await untilReady(VERSION);
});

test("a newer version in the registry is an upgrade, and ready after its migration", async () => {
  await push(await writeNextVersion(DIR, stack.info.helm, NEXT));
  await reconcile();
  await untilReady(NEXT.version);
  await expectServed();
});

test("a HelmRelease that is deleted while there are clusters stays and serves on, and goes with the last cluster", async () => {
  const clusters = await openTenantClusters(stack.info, release);
  const place = { orgID: clusters.orgID, clusterID: await clusters.create("kept") };
  await release.kubectl(["delete", "helmrelease/marina", "--wait=false"]);
  const refused = await waitFor("the refusal", async () => {
    const ready = readyOf(await readHelmRelease());
    return ready?.status === "False" ? ready.message : undefined;
  });
  expect(refused).toContain("marina-uninstall-check");
  expectStatus(202, await clusters.tenant().call("deleteCluster", place));
  await waitFor(
    "the cluster to go",
    async () => (await clusters.tenant().call("getCluster", place)).status === 404,
  );
  await waitFor("the release to go", async () => {
    if ((await readHelmRelease()) === undefined) return true;
    await reconcile();
    return false;
  });
  expect(await release.kubectl(["get", "deployments", "-o", "name"])).toBe("");
});
