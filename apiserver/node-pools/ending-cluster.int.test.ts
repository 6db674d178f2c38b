import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readStack } from "../../e2e/platform/stack/testing.ts";
import { NO_AMOUNTS } from "../../shared/crd/quota.ts";
import { createId } from "../../shared/program/id.ts";
import { author } from "../clusters/create/testing.ts";
import { asAuthorized } from "../http/contract/caller.ts";
import { type ProjectedCluster, projectObservations } from "../resources/project/index.ts";
import { projected } from "../resources/project/testing.ts";
import { writeIntents } from "../resources/table.ts";
import type { TestApp } from "../testing/app.ts";
import { startTestClusters } from "../testing/service.ts";
import { createNodePoolBody, toNodePoolSpec } from "./schema.ts";
import { createNodePool } from "./write.ts";

const POOL = { name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };

let api: TestApp;
let orgId: string;
let clusters: string;
let n = 0;

beforeAll(async () => {
  ({ api, orgId, clusters } = await startTestClusters());
});
afterAll(() => api.close());

const observe = (object: ProjectedCluster, deleted = false) =>
  api.deps.db.transaction((tx) => projectObservations(tx, [{ object, deleted }]));

async function addCluster(): Promise<ProjectedCluster> {
  n += 1;
  const cluster = projected(orgId, n);
  await observe(cluster);
  return cluster;
}

const change = (cluster: ProjectedCluster, changed: Partial<ProjectedCluster>) =>
  observe({ ...cluster, ...changed, resourceVersion: cluster.resourceVersion + 1n });

/** As a request does that is about to delete the object, or to create one of a cluster. */
function intend(verb: "create" | "delete", objectId: string, scope = orgId) {
  const kind = verb === "delete" ? "Cluster" : "NodePool";
  const place = { namespace: `org-${orgId}`, name: `n-${objectId.slice(-12)}` };
  const row = { id: createId(), groupId: objectId, kind, verb, orgId, objectId, scope } as const;
  const written = { ...place, ...NO_AMOUNTS, requestId: "request", author: {} as never };
  return api.deps.db.insert(writeIntents).values({ ...row, ...written });
}

/** Creates a pool by a request whose body is sent once the server waits for it, after `meanwhile`. */
async function createLate(cluster: ProjectedCluster, query: string, meanwhile: () => Promise<unknown>) {
  const body = new ReadableStream(
    {
      async pull(controller) {
        await meanwhile();
        controller.enqueue(new TextEncoder().encode(JSON.stringify(POOL)));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = {
    authorization: `Bearer ${readStack().tokens.alice}`,
    "content-type": "application/json",
    "transfer-encoding": "chunked",
  };
  const path = `${clusters}/${cluster.id}/nodepools${query}`;
  const response = await api.app.request(path, { method: "POST", headers, body, duplex: "half" });
  const { error } = (await response.json()) as { error?: { code: string } };
  return [response.status, error?.code];
}

describe.each([
  ["", "a node pool"],
  ["?dry_run=true", "a dry run"],
])("%s", (query, noun) => {
  test.each([
    ["is deleted", 404, "not_found", (cluster: ProjectedCluster) => observe(cluster, true)],
    [
      "begins to be deleted",
      409,
      "conflict",
      (cluster: ProjectedCluster) => change(cluster, { status: "deleting" }),
    ],
    ["is about to be deleted", 409, "conflict", (cluster: ProjectedCluster) => intend("delete", cluster.id)],
    [
      "is suspended",
      409,
      "conflict",
      ({ object, ...cluster }: ProjectedCluster) =>
        change({ object, ...cluster }, { object: { ...object, spec: { ...object.spec, suspend: true } } }),
    ],
  ])(`${noun} of a cluster that %s while the body arrives is %i %s`, async (_what, status, code, end) => {
    const cluster = await addCluster();
    expect(await createLate(cluster, query, () => end(cluster))).toEqual([status, code]);
    const isOfCluster = and(eq(writeIntents.scope, cluster.id), eq(writeIntents.verb, "create"));
    expect(await api.deps.db.select().from(writeIntents).where(isOfCluster)).toEqual([]);
  });
});

test("a create that was begun does not go on once its cluster is deleted", async () => {
  const cluster = await addCluster();
  // As an attempt leaves it that ended before its object was written.
  const id = createId();
  await intend("create", id, cluster.id);
  await observe(cluster, true);
  const pool = {
    id,
    objectName: "general",
    spec: toNodePoolSpec(createNodePoolBody.parse(POOL), cluster.name),
  };
  await expect(createNodePool(api.deps, asAuthorized(author), cluster, pool)).rejects.toMatchObject({
    code: "not_found",
  });
});
