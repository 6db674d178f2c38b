import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { createClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { auditLog } from "../audit/table.ts";
import { clusterIntents } from "../clusters/table.ts";
import { createId } from "../http/id.ts";
import { startTestApp, type TestApp } from "../http/testing.ts";
import { addPerson, type Person, startTestIssuer, type TestIssuer } from "../testing.ts";
import { deleteOrganization } from "./delete.ts";
import { lockOrganization, organizationNamespace } from "./store.ts";
import { organizations } from "./table.ts";

let issuer: TestIssuer;
let api: TestApp;
beforeAll(async () => {
  issuer = await startTestIssuer();
  api = await startTestApp({ issuers: [issuer.config] });
});
afterAll(async () => {
  await api.close();
  issuer.close();
});

const ORGANIZATIONS = "/api/v1/organizations";

interface Organization {
  id: string;
  owner: Person;
  path: string;
  slug: string;
}

async function makeOrganization(fields: object = {}): Promise<Organization> {
  const owner = await issuer.createPerson();
  const { body } = await api.request("POST", ORGANIZATIONS, {
    token: owner.token,
    body: { name: "Changes", ...fields },
  });
  return { id: body.id, owner, path: `${ORGANIZATIONS}/${body.id}`, slug: body.slug };
}

const put = (org: Organization, body: object, headers = {}, token = org.owner.token) =>
  api.request("PUT", org.path, { token, body, headers });

async function actionsOn(orgId: string): Promise<string[]> {
  const rows = await api.deps.db
    .select({ action: auditLog.action })
    .from(auditLog)
    .where(eq(auditLog.orgId, orgId))
    .orderBy(auditLog.id);
  return rows.map(({ action }) => action);
}

describe("PUT organization (section 4.8)", () => {
  test("changes what was sent and leaves the rest", async () => {
    const org = await makeOrganization({ billing_email: "a@example.com", vat_id: "DE123456789" });
    const answer = await put(org, { name: "Renamed" });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      id: org.id,
      name: "Renamed",
      slug: org.slug,
      billing_email: "a@example.com",
      vat_id: "DE123456789",
      plan: "starter",
    });
    expect(answer.headers.get("etag")).toBe('"2"');
    expect(Date.parse(answer.body.updated_at)).toBeGreaterThanOrEqual(Date.parse(answer.body.created_at));
  });

  test("takes back what GET returned, and writes nothing then", async () => {
    const org = await makeOrganization();
    const read = await api.request("GET", org.path, { token: org.owner.token });
    const answer = await put(org, read.body);
    expect(answer.body).toEqual(read.body);
    expect(answer.headers.get("etag")).toBe(read.headers.get("etag"));
    expect(await actionsOn(org.id)).toEqual(["organization.create"]);
  });

  test("null clears billing_email and vat_id, and nothing else", async () => {
    const org = await makeOrganization({ billing_email: "a@example.com", vat_id: "DE123456789" });
    const cleared = await put(org, { billing_email: null, vat_id: null });
    expect(cleared.body).toMatchObject({ billing_email: null, vat_id: null });
    for (const field of ["name", "slug"]) {
      const refused = await put(org, { [field]: null });
      expect(refused.status).toBe(422);
      expect(refused.body.error.message.startsWith(`${field}/invalid_type`)).toBe(true);
    }
  });

  test.each<[object, string]>([
    [{ plan: "scale" }, "plan/immutable"],
    [{ id: createId() }, "id/immutable"],
    [{ slug: "Ab" }, "slug/too_short"],
    [{ slug: "-abc" }, "slug/invalid_format"],
    [{ slug: "a--b" }, "slug/invalid_format"],
    [{ slug: "x".repeat(41) }, "slug/too_long"],
    [{ name: "" }, "name/too_short"],
    [{ name: "x".repeat(101) }, "name/too_long"],
    [{ vat_id: "DE12" }, "vat_id/invalid_format"],
    [{ vat_id: "" }, "vat_id/invalid_format"],
    [{ billing_email: "nobody" }, "billing_email/invalid_format"],
    [{ owner: "me" }, "owner/unknown_field"],
  ])("with %j is 422 %s", async (body, fault) => {
    const answer = await put(await makeOrganization(), body);
    expect(answer.status).toBe(422);
    expect(answer.body.error.message.startsWith(fault)).toBe(true);
  });

  test("with plan as it is, is no change of it", async () => {
    expect((await put(await makeOrganization(), { plan: "starter" })).status).toBe(200);
  });

  test("with a slug that is taken is 409, and nothing is written", async () => {
    const [first, second] = [await makeOrganization(), await makeOrganization()];
    const answer = await put(second, { slug: first.slug, name: "Thief" });
    expect(answer.status).toBe(409);
    expect(answer.body.error).toMatchObject({
      code: "already_exists",
      details: [{ field: "slug", code: "duplicate" }],
    });
    const read = await api.request("GET", second.path, { token: second.owner.token });
    expect(read.body).toMatchObject({ name: "Changes", slug: second.slug });
  });

  test("asks for the permission of each field that changes", async () => {
    const org = await makeOrganization();
    const biller = await issuer.createPerson();
    await addPerson(api.deps, org.id, biller, "billing");
    const as = (body: object) => put(org, body, {}, biller.token);
    expect((await as({ vat_id: "DE123456789", name: "Changes" })).status).toBe(200);
    const refused = await as({ vat_id: null, name: "Mine" });
    expect(refused.status).toBe(403);
    expect(refused.body.error.message).toContain("organization:update");
    const read = await api.request("GET", org.path, { token: biller.token });
    expect(read.body.vat_id).toBe("DE123456789");
  });

  test("two at once with one If-Match: one is 200, the other 412", async () => {
    const org = await makeOrganization();
    const answers = await Promise.all(
      ["A", "B", "C", "D"].map((name) => put(org, { name }, { "if-match": '"1"' })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412, 412]);
    expect(answers.find(({ status }) => status === 412)?.headers.get("etag")).toBe('"2"');
  });

  test("of different fields at once loses neither", async () => {
    const org = await makeOrganization();
    await Promise.all([
      put(org, { name: "Both" }),
      put(org, { billing_email: "both@example.com" }),
      put(org, { vat_id: "DE999999999" }),
    ]);
    const read = await api.request("GET", org.path, { token: org.owner.token });
    expect(read.body).toMatchObject({
      name: "Both",
      billing_email: "both@example.com",
      vat_id: "DE999999999",
    });
    expect(read.headers.get("etag")).toBe('"4"');
  });

  test("leaves one audit row with the fields before and after", async () => {
    const org = await makeOrganization();
    await put(org, { vat_id: "DE123456789" }, { "x-request-id": "put-1" });
    const [, row] = await api.deps.db
      .select()
      .from(auditLog)
      .where(eq(auditLog.orgId, org.id))
      .orderBy(auditLog.id);
    expect(row).toMatchObject({
      action: "organization.update",
      requestId: "put-1",
      before: { vat_id: null },
      after: { vat_id: "DE123456789" },
    });
  });
});

describe("DELETE organization", () => {
  const remove = (org: Organization, headers = {}) =>
    api.request("DELETE", org.path, { token: org.owner.token, headers });

  test("is 204; then it is 404 like one that never was, its slug is free and its audit log remains", async () => {
    const org = await makeOrganization({ slug: `gone-${createId().slice(-8)}` });
    expect((await remove(org)).status).toBe(204);
    expect((await api.request("GET", org.path, { token: org.owner.token })).status).toBe(404);
    expect((await remove(org)).status).toBe(404);
    const list = await api.request("GET", ORGANIZATIONS, { token: org.owner.token });
    expect(list.body.items).toEqual([]);
    expect((await makeOrganization({ slug: org.slug })).slug).toBe(org.slug);
    expect(await actionsOn(org.id)).toEqual(["organization.create", "organization.delete"]);
  });

  test("of an old version is 412", async () => {
    const org = await makeOrganization();
    await put(org, { name: "Newer" });
    expect((await remove(org, { "if-match": '"1"' })).status).toBe(412);
    expect((await remove(org, { "if-match": '"2"' })).status).toBe(204);
  });

  test("twice at once deletes once", async () => {
    const org = await makeOrganization();
    const answers = await Promise.all([remove(org), remove(org), remove(org)]);
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect((await actionsOn(org.id)).filter((action) => action === "organization.delete")).toHaveLength(1);
  });

  test("is 409 organization_not_empty while the Kubernetes API holds a cluster, and open again then", async () => {
    const org = await makeOrganization();
    const cluster = await makeCluster(org.id);
    const refused = await remove(org);
    expect([refused.status, refused.body.error.code]).toEqual([409, "organization_not_empty"]);
    expect((await put(org, { name: "Still here" })).status).toBe(200);
    await api.deps.kube.delete(clusterKind, organizationNamespace(org.id), cluster);
    expect((await remove(org)).status).toBe(204);
  });

  test("is 409 while a cluster is being created", async () => {
    const org = await makeOrganization();
    const [intent] = await api.deps.db
      .insert(clusterIntents)
      .values({
        clusterId: createId(),
        orgId: org.id,
        state: "pending",
        wish: {} as never,
        origin: {} as never,
      })
      .returning();
    expect((await remove(org)).body.error.code).toBe("organization_not_empty");
    await api.deps.db.delete(clusterIntents).where(eq(clusterIntents.clusterId, intent?.clusterId ?? ""));
  });

  test("shuts the organization while it looks: what is made inside meanwhile is 409", async () => {
    const org = await makeOrganization();
    await api.deps.db
      .update(organizations)
      .set({ deletingAt: new Date() })
      .where(eq(organizations.id, org.id));
    const invitation = await api.request("POST", `${org.path}/members`, {
      token: org.owner.token,
      body: { email: "late@example.com", role: "viewer" },
    });
    expect([invitation.status, invitation.body.error.code]).toEqual([409, "conflict"]);
    const cluster = await createCluster(org);
    expect([cluster.status, cluster.body.error.code]).toEqual([409, "conflict"]);
    await expect(api.deps.db.transaction((tx) => lockOrganization(tx, org.id))).rejects.toMatchObject({
      code: "conflict",
      retryAfterSeconds: 5,
    });
  });

  test("and a cluster being created at once never both succeed", async () => {
    for (let round = 0; round < 6; round++) {
      const org = await makeOrganization();
      const [created, removed] = await Promise.all([createCluster(org), remove(org)]);
      const left = await api.deps.kube.list(clusterKind, { namespace: organizationNamespace(org.id) });
      expect([created.status, removed.status].filter((status) => status < 300)).toHaveLength(1);
      expect(left.items).toHaveLength(created.status === 202 ? 1 : 0);
    }
  });

  test("that died while looking holds it shut for a minute only", async () => {
    const org = await makeOrganization();
    const deletingAt = new Date(Date.now() - 61_000);
    await api.deps.db.update(organizations).set({ deletingAt }).where(eq(organizations.id, org.id));
    expect((await put(org, { name: "Open again" })).status).toBe(200);
    expect((await remove(org)).status).toBe(204);
  });

  test("is not carried out when the Kubernetes API cannot be asked", async () => {
    const org = await makeOrganization();
    const transport = createTransport({
      connection: { server: "http://127.0.0.1:1" },
      timeoutMs: 500,
    });
    const deps = { ...api.deps, kube: createClient(transport) };
    const origin = {
      principal: {
        kind: "user",
        userId: org.owner.userId,
        issuer: "",
        emailVerified: true,
        emailTrusted: true,
        roles: [],
        expiresAtMs: 0,
      },
      requestId: "offline",
      sourceAddress: undefined,
    } as const;
    const attempt = deleteOrganization(deps, origin, { orgId: org.id, ifMatch: undefined });
    await expect(attempt).rejects.toThrow(KubeError);
    await transport.close();
    const [row] = await api.deps.db.select().from(organizations).where(eq(organizations.id, org.id));
    expect([row?.deletingAt, row?.deletedAt]).toEqual([null, null]);
  });

  test("ends the organization's API tokens", async () => {
    const org = await makeOrganization();
    const minted = await api.request("POST", `${org.path}/api-tokens`, {
      token: org.owner.token,
      body: { name: "t", role: "viewer", scopes: ["organization:read"] },
    });
    await remove(org);
    expect((await api.request("GET", org.path, { token: minted.body.token })).status).toBe(401);
  });
});

function createCluster(org: Organization) {
  return api.request("POST", `${org.path}/clusters`, {
    token: org.owner.token,
    body: { name: "racer", k8s_version: "1.34.2" },
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
