import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { ANNOTATION_QUOTAS } from "../../shared/crd/names.ts";
import { CLUSTER_AMOUNTS, formatLimits, NO_AMOUNTS } from "../../shared/crd/quota.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { createId } from "../../shared/program/id.ts";
import { author } from "../clusters/create/testing.ts";
import { asAuthorized } from "../http/contract/caller.ts";
import { writeIntents } from "../resources/table.ts";
import { makeOrganization, type TestOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { withUnreachableKube } from "../testing/unreachable-kube.ts";
import { deleteOrganization } from "./changes.ts";
import { organizationNamespace } from "./namespace.ts";
import { lockOrganization, markDeleted } from "./store.ts";
import { organizations } from "./table.ts";

const { api, issuer } = setUpTestService();

const ORGANIZATIONS = "/api/v1/organizations";

const put = (org: TestOrganization, body: object, headers = {}, token = org.owner.token) =>
  api.request("PUT", org.path, { token, body, headers });

async function actionsOn(orgId: string): Promise<string[]> {
  const rows = await api.deps.sql`select action from audit_log where org_id = ${orgId} order by id`;
  return rows.map(({ action }) => action);
}

describe("DELETE organization", () => {
  const remove = (org: TestOrganization, headers = {}) =>
    api.request("DELETE", org.path, { token: org.owner.token, headers });

  test("is 204; then it is 404 like one that never was, its slug is free and its audit log remains", async () => {
    const org = await makeOrganization(api, issuer, { slug: `gone-${createId().slice(-8)}` });
    expect((await remove(org)).status).toBe(204);
    expect((await api.request("GET", org.path, { token: org.owner.token })).status).toBe(404);
    expect((await remove(org)).status).toBe(404);
    const list = await api.request("GET", ORGANIZATIONS, { token: org.owner.token });
    expect(list.body.items).toEqual([]);
    expect((await makeOrganization(api, issuer, { slug: org.slug })).slug).toBe(org.slug);
    expect(await actionsOn(org.id)).toEqual(["organization.create", "organization.delete"]);
  });

  test("leaves no quotas to whoever may still write its Namespace by kubectl", async () => {
    const org = await makeOrganization(api, issuer);
    const place = [namespaceKind, undefined, organizationNamespace(org.id)] as const;
    await waitFor("its Namespace", () => api.deps.kube.get(...place));
    expect((await remove(org)).status).toBe(204);
    const namespace = await api.deps.kube.get(...place);
    expect(namespace?.metadata.annotations?.[ANNOTATION_QUOTAS]).toBe(formatLimits(NO_AMOUNTS));
  });

  test("of an old version is 412", async () => {
    const org = await makeOrganization(api, issuer);
    await put(org, { name: "Newer" });
    expect((await remove(org, { "if-match": '"1"' })).status).toBe(412);
    expect((await remove(org, { "if-match": '"2"' })).status).toBe(204);
  });

  test("twice at once deletes once", async () => {
    const org = await makeOrganization(api, issuer);
    const responses = await Promise.all([remove(org), remove(org), remove(org)]);
    expect(responses.filter(({ status }) => status === 204)).toHaveLength(1);
    expect((await actionsOn(org.id)).filter((action) => action === "organization.delete")).toHaveLength(1);
  });

  test("is 409 organization_not_empty while the Kubernetes API holds a cluster, and open again then", async () => {
    const org = await makeOrganization(api, issuer);
    const cluster = await makeCluster(org.id);
    const refused = await remove(org);
    expect([refused.status, refused.body.error.code]).toEqual([409, "organization_not_empty"]);
    expect((await put(org, { name: "Still here" })).status).toBe(200);
    await api.deps.kube.delete(clusterKind, organizationNamespace(org.id), cluster);
    // The operator holds the object until nothing of the cluster is left.
    await waitFor("the deletion to be taken", async () => (await remove(org)).status === 204);
  });

  test.each([
    ["cluster", "The cluster racer", { deletion_protection: true }],
    ["node pool", "The node pool web", { node_pools: [{ ...POOL, deletion_protection: true }] }],
  ])(
    "and its dry run are 409 deletion_protected for a %s that is, which they name",
    async (_kind, subject, body) => {
      const org = await makeOrganization(api, issuer);
      expect((await createCluster(org, { plan: "scale", ...body })).status).toBe(202);
      for (const query of ["?dry_run=true", ""]) {
        const refused = await api.request("DELETE", `${org.path}${query}`, { token: org.owner.token });
        const { code, message } = refused.body.error;
        expect([refused.status, code, message]).toEqual([
          409,
          "deletion_protected",
          `${subject} is protected from deletion: set deletion_protection to false first.`,
        ]);
      }
      expect((await put(org, { name: "Still here" })).status).toBe(200);
    },
  );

  test("as a dry run says whether it may be deleted, and changes nothing", async () => {
    const org = await makeOrganization(api, issuer);
    const dryRun = () => api.request("DELETE", `${org.path}?dry_run=true`, { token: org.owner.token });
    const { status, body } = await dryRun();
    expect([status, body.id]).toEqual([200, org.id]);
    expect((await put(org, { name: "Still here" })).status).toBe(200);
    await makeCluster(org.id);
    expect((await dryRun()).body.error.code).toBe("organization_not_empty");
    expect(await actionsOn(org.id)).toEqual(["organization.create", "organization.update"]);
  });

  test.each(["Cluster", "NodePool"] as const)("is 409 while a %s is being created", async (kind) => {
    const org = await makeOrganization(api, issuer);
    const objectId = createId();
    await api.deps.db.insert(writeIntents).values({
      id: createId(),
      groupId: objectId,
      kind,
      verb: "create",
      orgId: org.id,
      objectId: objectId,
      parentId: org.id,
      ...CLUSTER_AMOUNTS,
      namespace: organizationNamespace(org.id),
      name: "pending",
      requestId: "request",
      author: {} as never,
    });
    expect((await remove(org)).body.error.code).toBe("organization_not_empty");
    await api.deps.db.delete(writeIntents).where(eq(writeIntents.objectId, objectId));
  });

  test("locks the organization while it checks: a create inside it meanwhile is 409", async () => {
    const org = await makeOrganization(api, issuer);
    // In the future, so that its minute does not end before the requests have been answered.
    const deletingAt = new Date(Date.now() + 3_600_000);
    await api.deps.db.update(organizations).set({ deletingAt }).where(eq(organizations.id, org.id));
    const invitation = await api.request("POST", `${org.path}/members`, {
      token: org.owner.token,
      body: { email: "late@example.com", role: "viewer" },
    });
    expect([invitation.status, invitation.body.error.code]).toEqual([409, "conflict"]);
    const cluster = await createCluster(org);
    expect([cluster.status, cluster.body.error.code]).toEqual([409, "conflict"]);
    const quotas = await api.request("PUT", `/api/v1/admin/organizations/${org.id}/quotas`, {
      as: "staff",
      body: { clusters: 1 },
    });
    expect([quotas.status, quotas.body.error.code]).toEqual([409, "conflict"]);
    await expect(api.deps.db.transaction((tx) => lockOrganization(tx, org.id))).rejects.toMatchObject({
      code: "conflict",
      retryAfterSeconds: 5,
    });
  });

  test("and a cluster being created at once never both succeed", async () => {
    for (let round = 0; round < 6; round++) {
      const org = await makeOrganization(api, issuer);
      const [created, removed] = await Promise.all([createCluster(org), remove(org)]);
      const left = await api.deps.kube.list(clusterKind, { namespace: organizationNamespace(org.id) });
      expect([created.status, removed.status].filter((status) => status < 300)).toHaveLength(1);
      expect(left.items).toHaveLength(created.status === 202 ? 1 : 0);
    }
  });

  test("that died while looking holds it shut for a minute only", async () => {
    const org = await makeOrganization(api, issuer);
    const deletingAt = new Date(Date.now() - 61_000);
    await api.deps.db.update(organizations).set({ deletingAt }).where(eq(organizations.id, org.id));
    expect((await put(org, { name: "Open again" })).status).toBe(200);
    expect((await remove(org)).status).toBe(204);
  });

  test.each([
    [30, true],
    [61, false],
  ])("of which nothing was heard for %i s is carried out: %s", async (seconds, isDeleted) => {
    const org = await makeOrganization(api, issuer);
    const deletingAt = await beginAgo(org, seconds);
    const row = await api.deps.db.transaction((tx) => markDeleted(tx, org.id, deletingAt));
    expect(row !== undefined).toBe(isDeleted);
  });

  test("is not carried out when a change in it ended after its minute", async () => {
    const org = await makeOrganization(api, issuer);
    const deletingAt = await beginAgo(org, 59);
    const { db, sql } = api.deps;
    let marked: Promise<unknown> = Promise.resolve();
    await sql.begin(async (tx) => {
      await tx`select 1 from organizations where id = ${org.id} for no key update`;
      marked = db.transaction((other) => markDeleted(other, org.id, deletingAt));
      await waitFor("the mark to wait for the change", async () => {
        const rows = await sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`;
        return rows.length > 0;
      });
      await waitFor("the end of the minute", async () => {
        const rows =
          await sql`select 1 where clock_timestamp() > ${deletingAt}::timestamptz + interval '60 seconds'`;
        return rows.length > 0;
      });
    });
    expect(await marked).toBeUndefined();
  });

  test("is not carried out when the Kubernetes API is not available", async () => {
    const org = await makeOrganization(api, issuer);
    const { userId } = org.owner;
    const caller = asAuthorized({ ...author, principal: { ...author.principal, userId } });
    const hooks = {
      hasPendingCreates: async () => false,
      hasImages: async () => false,
      onDelete: async () => undefined,
    };
    await withUnreachableKube(async (kube) => {
      const attempt = deleteOrganization({ ...api.deps, kube }, caller, hooks, {
        orgId: org.id,
        preconditions: { ifMatch: undefined },
      });
      await expect(attempt).rejects.toThrow(KubeError);
    });
    const [row] = await api.deps.db.select().from(organizations).where(eq(organizations.id, org.id));
    expect([row?.deletingAt, row?.deletedAt]).toEqual([null, null]);
  });

  test("ends the organization's API tokens", async () => {
    const org = await makeOrganization(api, issuer);
    const minted = await api.request("POST", `${org.path}/api-tokens`, {
      token: org.owner.token,
      body: { name: "t", role: "viewer", scopes: ["organization:read"] },
    });
    await remove(org);
    expect((await api.request("GET", org.path, { token: minted.body.token })).status).toBe(401);
  });
});

/** As if the deletion of an organization had begun so long ago. */
async function beginAgo(org: TestOrganization, seconds: number): Promise<Date> {
  const deletingAt = new Date(Date.now() - seconds * 1000);
  await api.deps.db.update(organizations).set({ deletingAt }).where(eq(organizations.id, org.id));
  return deletingAt;
}

const POOL = { name: "web", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };

function createCluster(org: TestOrganization, settings: object = {}) {
  return api.request("POST", `${org.path}/clusters`, {
    token: org.owner.token,
    body: { name: "racer", k8s_version: "1.34.2", ...settings },
  });
}

/** A Cluster as a platform engineer would make one: no projection knows of it. */
async function makeCluster(orgId: string): Promise<string> {
  const name = `c-${createId().slice(-8)}`;
  await api.deps.kube.create(
    clusterKind,
    {
      apiVersion: `${clusterKind.group}/${clusterKind.version}`,
      kind: clusterKind.kind,
      metadata: { name, namespace: organizationNamespace(orgId) },
      spec: { version: "1.34.2" },
    } as never,
    { fieldManager: "test" },
  );
  return name;
}
