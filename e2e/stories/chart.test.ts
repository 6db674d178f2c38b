import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OLDEST_VERSION } from "../../shared/kube/discovery.ts";
import { OPERATOR_HEAP_GROWTH } from "../platform/stack/marina.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import {
  pathOfChart,
  REQUIRED_VALUES,
  type Rendered,
  renderChart,
  runHelm,
  type Values,
} from "../testing/chart.ts";
import { VALUE_SETS, WITHOUT_DEFINITIONS } from "../testing/chart-values.ts";
import { installForeignDefinitions } from "../testing/infrastructure-provider.ts";
import { type Kubeconform, openKubeconform } from "../testing/kubeconform.ts";

const NAMESPACE = "marina-chart-test";
const folder = mkdtempSync(join(tmpdir(), "marina-chart-"));
let kubeconform: Kubeconform;

beforeAll(async () => {
  await kubectl(["create", "namespace", NAMESPACE]);
  // A Pod of `helm test` needs it, and a dry run creates none.
  await kubectl(["create", "serviceaccount", "marina-operator", "--namespace", NAMESPACE]);
  await installForeignDefinitions();
  kubeconform = await openKubeconform(folder);
  // No Pod is admitted without it.
  await waitFor("its default ServiceAccount", () =>
    kubectl(["get", "serviceaccount", "default", "--namespace", NAMESPACE]),
  );
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]);
});

const render = (values: Values) => renderChart("marina", NAMESPACE, { ...REQUIRED_VALUES, ...values });

/** What was accepted: most objects are the same whatever the values, and are sent once. */
const accepted = new Set<string>();

/** Sends the objects that are new in a dry run; returns those that were not accepted. */
async function findRefused(objects: readonly Rendered[]): Promise<string[]> {
  const fresh = objects.map((object) => JSON.stringify(object)).filter((text) => !accepted.has(text));
  if (fresh.length === 0) return [];
  const faults = await kubeconform.findFaults(fresh.map((text) => JSON.parse(text)));
  const applying = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename", "-"];
  const stdin = fresh.join("\n---\n");
  const { stdout } = await kubectl([...applying, "--namespace", NAMESPACE], { stdin });
  const written = stdout.trim().split("\n");
  if (faults.length > 0 || written.length !== fresh.length) return [...faults, ...written];
  for (const text of fresh) accepted.add(text);
  return [];
}

describe("every object is accepted by the Kubernetes API, and names no field that its schema does not know", () => {
  test.each(VALUE_SETS)("%s", async (_, values) => {
    const { objects } = await render({ ...WITHOUT_DEFINITIONS, ...values });
    expect(objects.length).toBeGreaterThan(20);
    expect(await findRefused(objects)).toEqual([]);
  });
});

test("no role grants everything of something, but for reading machines and control planes of any provider", async () => {
  const { objects } = await render({});
  const rules = objects
    .filter(({ kind }) => kind.endsWith("Role"))
    .flatMap(({ metadata, rules }) => rules.map((rule: object) => ({ role: metadata.name, ...rule })));
  const wildcards = rules.filter((rule) => JSON.stringify(rule).includes('"*"'));
  const reads = { resources: ["*"], verbs: ["get", "list", "watch"] };
  const [controlPlanes, machines] = ["controlplane.cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"];
  expect(wildcards).toEqual([
    { role: "marina-operator", apiGroups: [machines], ...reads },
    { role: "marina-engineer", apiGroups: [controlPlanes, machines], ...reads },
  ]);
});

test("the heap of a program is three quarters of its memory limit", async () => {
  const { text } = await render({ operator: { resources: { limits: { memory: "2Gi" } } } });
  expect(text).toContain("--max-old-space-size=1536");
  expect(text).toContain("--max-old-space-size=1152");
});

test("the operator is started with the flags of Node that its image was tested with", async () => {
  const { text } = await render({});
  expect(text).toContain(`args: [${OPERATOR_HEAP_GROWTH}, operator]`);
});

test("the chart names no namespace but the release's, and refuses a Kubernetes that the programs refuse", async () => {
  const { text } = await render({});
  expect(text).not.toContain("marina-system");
  const oldest = `${OLDEST_VERSION.major}.${OLDEST_VERSION.minor}`;
  const template = ["template", "marina", pathOfChart("marina")];
  await runHelm([...template, "--kube-version", `${oldest}.0`], REQUIRED_VALUES);
  const older = `${OLDEST_VERSION.major}.${OLDEST_VERSION.minor - 1}.9`;
  await expect(runHelm([...template, "--kube-version", older], REQUIRED_VALUES)).rejects.toThrow(
    `chart requires kubeVersion: >=${oldest}.0-0 which is incompatible with Kubernetes v${older}`,
  );
});

test("definitions of custom resources stay when the release is uninstalled", async () => {
  const { objects } = await render({});
  const definitions = objects.filter(({ kind }) => kind === "CustomResourceDefinition");
  expect(definitions).toHaveLength(4);
  for (const { metadata } of definitions)
    expect(metadata).toMatchObject({ annotations: { "helm.sh/resource-policy": "keep" } });
});
