import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { ANNOTATION_HOLD } from "../../shared/crd/names.ts";
import { auditLog } from "../audit/table.ts";
import { startTestApp } from "../testing/app.ts";
import { waitForFinalizer } from "../testing/service.ts";
import { expiryJobs } from "./expiry/jobs.ts";

const HOUR_MS = 3_600_000;
const POOL = { name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };

const api = setUp(startTestApp);
let orgId: string;
let clusterId: string;
let cluster: string;
let pool: string;

beforeAll(async () => {
  orgId = await api.createOrganization();
  const body = { name: "suspended", k8s_version: "1.34", node_pools: [POOL] };
  const created = await api.request("POST", `/api/v1/organizations/${orgId}/clusters`, { body });
  clusterId = created.body.id;
  cluster = `/api/v1/organizations/${orgId}/clusters/${clusterId}`;
  const { body: pools } = await api.request("GET", `${cluster}/nodepools`);
  pool = `${cluster}/nodepools/${pools.items[0].id}`;
});
afterAll(async () => {
  await setSuspended(false);
  await api.request("DELETE", cluster);
});

function setSuspended(suspended: boolean, id = clusterId) {
  const path = `/api/v1/admin/organizations/${orgId}/clusters/${id}/suspension`;
  return api.request("PUT", path, { as: "staff", body: { suspended } });
}

test("every change of a suspended cluster is refused with conflict until it is resumed", async () => {
  expect((await setSuspended(true)).status).toBe(200);
  const changes: [string, string, unknown?][] = [
    ["PUT", cluster, { name: "other" }],
    ["POST", `${cluster}/credentials/rotate`],
    ["PUT", `${cluster}/network`, { authorized_cidrs: [] }],
    ["POST", `${cluster}/nodepools`, { ...POOL, name: "another" }],
    ["PUT", pool, { name: "renamed" }],
    ["DELETE", pool],
    ["POST", `${cluster}/kubeconfig`, { ttl_seconds: 600 }],
  ];
  for (const [method, path, body] of changes) {
    const response = await api.request(method, path, body === undefined ? {} : { body });
    expect([method, path, response.status, response.body.error?.code]).toEqual([
      method,
      path,
      409,
      "conflict",
    ]);
    expect(response.body.error.message).toContain("suspended");
  }
  expect((await api.request("GET", cluster)).status).toBe(200);
  expect((await setSuspended(false)).status).toBe(200);
  expect((await api.request("PUT", cluster, { body: { name: "other" } })).body.name).toBe("other");
});

test("a suspended cluster can be deleted; one that the platform holds cannot, until the hold ends", async () => {
  const hold = async (reason: string | null) => {
    const [object] = await api.deps.kube.listAll(clusterKind, { namespace: `org-${orgId}` });
    const { namespace, name = "" } = object?.metadata ?? {};
    const patch = { metadata: { annotations: { [ANNOTATION_HOLD]: reason } } };
    await api.deps.kube.mergePatch(clusterKind, namespace, name, patch, { fieldManager: "marina-apiserver" });
  };
  const deleteDry = () => api.request("DELETE", `${cluster}?dry_run=true`);
  await setSuspended(true);
  expect((await deleteDry()).status).toBe(200);
  await hold("an investigation");
  const refused = await api.request("DELETE", cluster);
  expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
  expect(refused.body.error.message).toContain("an investigation");
  await hold(null);
  await setSuspended(false);
  expect((await deleteDry()).status).toBe(200);
});

async function countAudited(action: string, targetId: string): Promise<number> {
  const isOne = and(eq(auditLog.targetId, targetId), eq(auditLog.action, action));
  return (await api.deps.db.select().from(auditLog).where(isOne)).length;
}

test("each suspension and each end of one is audited, and a request that changes nothing is not", async () => {
  const countAll = () =>
    Promise.all(["cluster.suspend", "cluster.resume"].map((action) => countAudited(action, clusterId)));
  const before = await countAll();
  for (const suspended of [true, true, false, false]) await setSuspended(suspended);
  const after = await countAll();
  expect(after).toEqual(before.map((rows) => rows + 1));
});

test("a suspension that GitOps applies is ended there: 409 managed_elsewhere for staff", async () => {
  const namespace = `org-${orgId}`;
  const [object] = await api.deps.kube.listAll(clusterKind, { namespace });
  const apply = (spec: object) =>
    api.deps.kube.apply(
      clusterKind,
      { metadata: { namespace, name: object?.metadata.name ?? "" }, spec },
      { fieldManager: "argocd", force: true },
    );
  await apply({ suspend: true });
  const refused = await setSuspended(false);
  expect([refused.status, refused.body.error.code]).toEqual([409, "managed_elsewhere"]);
  await apply({});
  expect((await setSuspended(false)).status).toBe(200);
});

test("at its end date a node pool of a suspended cluster stays until that is resumed, and the cluster itself is deleted", async () => {
  const end = new Date(Date.now() + 30 * 24 * HOUR_MS);
  const followEnds = async (hoursLater: number) => {
    const now = () => new Date(end.getTime() + hoursLater * HOUR_MS);
    for (const job of expiryJobs({ ...api.deps, now })) await job.run(new AbortController().signal);
  };
  const body = { name: "ending", k8s_version: "1.34", plan: "scale", expires_at: end };
  const { body: made } = await api.request("POST", `/api/v1/organizations/${orgId}/clusters`, { body });
  const ending: string = made.id;
  await waitForFinalizer(api, orgId, ending);
  expect((await api.request("PUT", pool, { body: { expires_at: end } })).status).toBe(200);
  for (const id of [clusterId, ending]) expect((await setSuspended(true, id)).status).toBe(200);
  await followEnds(-1);
  await followEnds(1);
  const poolId = pool.split("/").at(-1) ?? "";
  const countDeletions = async () => [
    await countAudited("node_pool.delete", poolId),
    await countAudited("cluster.delete", ending),
  ];
  expect(await countDeletions()).toEqual([0, 1]);
  expect((await api.request("GET", pool)).body.status).not.toBe("deleting");
  expect((await setSuspended(false)).status).toBe(200);
  await followEnds(1);
  expect(await countDeletions()).toEqual([1, 1]);
  expect((await api.request("GET", pool)).body.status ?? "deleting").toBe("deleting");
});
