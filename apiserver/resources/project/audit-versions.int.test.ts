import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { LABEL_ID } from "../../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { auditLog } from "../../audit/table.ts";
import { startTestApp } from "../../testing/app.ts";
import { startProjector } from "./projector.ts";
import { createRandom } from "./testing.ts";

const WRITES = 60;

const api = setUp(startTestApp);
let orgId: string;
let pool: NodePool;
let path: string;
const stop = new AbortController();
let stopped: Promise<void>;

beforeAll(async () => {
  orgId = await api.createOrganization();
  const projector = startProjector(api.deps, stop.signal);
  ({ stopped } = projector);
  const clusters = `/api/v1/organizations/${orgId}/clusters`;
  const size = { vcpus: 1, memory_gb: 1, disk_gb: 10, desired_nodes: 1, max_nodes: 9 };
  const body = { name: "shop", k8s_version: "1.34", plan: "scale", node_pools: [{ name: "web", ...size }] };
  const cluster = await api.request("POST", clusters, { body });
  const pools = await api.request("GET", `${clusters}/${cluster.body.id}/nodepools`);
  path = `${clusters}/${cluster.body.id}/nodepools/${pools.body.items[0].id}`;
  const [found] = await api.deps.kube.listAll(nodePoolKind, { namespace: `org-${orgId}` });
  if (found === undefined) throw new Error("no pool");
  pool = found;
  await waitFor("the projector to have synced", () => projector.synced());
});
afterAll(async () => {
  stop.abort();
  await stopped;
});

/** One change as [writer, field, before, after], the field by its name in the spec. */
type Line = string;

interface Settings {
  desiredNodes: number | undefined;
  maxNodes: number | undefined;
  team: string | undefined;
  stage: string | undefined;
}

const settingsOf = ({ spec, metadata }: NodePool): Settings => ({
  desiredNodes: spec.desiredNodes,
  maxNodes: spec.maxNodes,
  team: metadata.labels?.team,
  stage: metadata.labels?.stage,
});

/** The ways in which the pool is written, each by a writer of its own. */
function makeWriters(random: (below: number) => number): [string, () => Promise<unknown>][] {
  const { namespace = "", name } = pool.metadata;
  const { kube } = api.deps;
  const nodes = () => 1 + random(9);
  const word = () => `w${random(4)}`;
  return [
    ["rest", () => api.request("PUT", path, { body: { desired_nodes: nodes() } })],
    [
      "editor",
      () => kube.mergePatch(nodePoolKind, namespace, name, { spec: { desiredNodes: nodes() } }, by("editor")),
    ],
    [
      "scaler",
      () =>
        kube.mergePatch(
          nodePoolKind,
          namespace,
          name,
          { spec: { replicas: nodes() } },
          {
            ...by("scaler"),
            subresource: "scale",
          },
        ),
    ],
    [
      "gitops",
      () =>
        kube.apply(
          nodePoolKind,
          { metadata: { namespace, name, labels: { team: word() } } },
          { ...by("gitops"), force: true },
        ),
    ],
    [
      "patcher",
      () =>
        kube.jsonPatch(
          nodePoolKind,
          namespace,
          name,
          [{ op: "add", path: "/metadata/labels/stage", value: word() }],
          by("patcher"),
        ),
    ],
    [
      "bounds",
      () =>
        kube.mergePatch(nodePoolKind, namespace, name, { spec: { maxNodes: 9 + random(3) } }, by("bounds")),
    ],
  ];
}

const by = (fieldManager: string) => ({ fieldManager });

async function readPool(): Promise<NodePool> {
  const { namespace = "", name } = pool.metadata;
  const found = await api.deps.kube.get(nodePoolKind, namespace, name);
  if (found === undefined) throw new Error("the pool is gone");
  return found;
}

/**
 * After some scales the Kubernetes API names no manager of the count; of whom it does not name, nothing is
 * known.
 */
function nameOf(writer: string, { metadata }: NodePool): string {
  const counts = metadata.managedFields?.some(({ fieldsV1 }) =>
    JSON.stringify(fieldsV1).includes("f:desiredNodes"),
  );
  return writer === "scaler" && counts !== true ? "unknown" : writer;
}

function compare(writer: string, before: Settings, after: Settings): Line[] {
  return (Object.keys(after) as (keyof Settings)[])
    .filter((field) => before[field] !== after[field])
    .map((field) => toLine(writer, field, before[field], after[field]));
}

function toLine(writer: string, field: string, before: unknown, after: unknown): Line {
  return JSON.stringify([writer, field, before ?? null, after ?? null]);
}

async function readLog(): Promise<Line[]> {
  const rows = await api.deps.db
    .select()
    .from(auditLog)
    .where(eq(auditLog.targetId, pool.metadata.labels?.[LABEL_ID] ?? ""));
  return rows
    .filter(({ action }) => action === "node_pool.update")
    .flatMap(({ actor, before, after }) => {
      const writer = actor.kind === "kubernetes" ? actor.manager : "rest";
      const [was, is] = [flatten(before), flatten(after)];
      return Object.keys({ ...was, ...is }).map((field) => toLine(writer, field, was[field], is[field]));
    })
    .sort();
}

const SPEC_NAMES: Record<string, string> = { desired_nodes: "desiredNodes" };

function flatten(fields: Readonly<Record<string, unknown>> | null): Record<string, unknown> {
  const { labels = {}, ...spec } = (fields ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries({ ...spec, ...(labels as object) }).map(([name, value]) => [
      SPEC_NAMES[name] ?? name,
      value,
    ]),
  );
}

test("each change by REST, kubectl, scale, apply and patch is in the audit log once, also many within a second", async () => {
  const seed = Date.now() % 100_000;
  const random = createRandom(seed);
  const writers = makeWriters(random);
  const written: Line[] = [];
  let settings = settingsOf(await readPool());
  for (let n = 0; n < WRITES; n += 1) {
    const [writer, write] = writers[random(writers.length)] ?? ["", () => Promise.resolve()];
    await write();
    const changed = await readPool();
    const after = settingsOf(changed);
    written.push(...compare(nameOf(writer, changed), settings, after));
    settings = after;
  }
  expect(written.length).toBeGreaterThan(WRITES / 4);
  await expect.poll(readLog, { message: `seed ${seed}` }).toEqual(written.toSorted());
});
