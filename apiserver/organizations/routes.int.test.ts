import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { systemAuthor } from "../http/authentication/principal.ts";
import { startTestApp } from "../testing/app.ts";
import { startTestIssuer } from "../testing/issuer.ts";
import { createOrganization } from "./changes.ts";
import { organizationNamespace } from "./namespace.ts";

const issuer = setUp(startTestIssuer);
const api = setUp(startTestApp);
/** A second API on the service's database, with people of another issuer. */
const ofIssuer = setUp(() => startTestApp({ issuers: [issuer.config], replicaOf: api }));

const path = "/api/v1/organizations";

describe("creating an organization", () => {
  test("returns 201 with the record, its location and its version", async () => {
    const response = await api.request("POST", path, {
      body: { name: "Example Ltd", billing_email: "a@example.com" },
    });
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({
      name: "Example Ltd",
      slug: "example-ltd",
      plan: "starter",
      billing_email: "a@example.com",
      vat_id: null,
    });
    expect(response.headers.get("location")).toBe(`${path}/${response.body.id}`);
    expect(response.headers.get("etag")).toBe('"1"');
    expect(response.body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("makes the caller its owner", async () => {
    const orgId = await api.createOrganization();
    const me = await api.request("GET", "/api/v1/me");
    expect(me.body.organizations).toContainEqual(expect.objectContaining({ id: orgId, role: "owner" }));
  });

  test.each([
    [
      { email: undefined },
      "email/required: the token carries no e-mail address; have the provider put it in",
    ],
    [
      { email_verified: false },
      "email/required: the token does not say that its e-mail address is verified; verify it with the provider",
    ],
  ])("with the claims %j is 422, which says what is missing", async (claims, message) => {
    const person = await issuer.createPerson({ claims });
    const response = await ofIssuer.request("POST", path, { token: person.token, body: { name: "None" } });
    expect(response).toMatchObject({ status: 422, body: { error: { code: "validation_failed", message } } });
  });

  test("creates its Namespace", async () => {
    const orgId = await api.createOrganization();
    const namespace = await api.deps.kube.get(namespaceKind, undefined, organizationNamespace(orgId));
    expect(namespace?.metadata.labels?.["cloud.marina.dev/org-id"]).toBe(orgId);
  });

  test("leaves one audit row with the ids of the request", async () => {
    const response = await api.request("POST", path, {
      body: { name: "Audited" },
      headers: { "x-request-id": "audit-1" },
    });
    const rows = await api.deps.db.select().from(auditLog).where(eq(auditLog.orgId, response.body.id));
    expect(rows).toEqual([
      expect.objectContaining({
        action: "organization.create",
        requestId: response.headers.get("x-request-id"),
        clientRequestId: "audit-1",
        result: "done",
      }),
    ]);
  });

  test("with a slug that is taken is 409 and creates nothing", async () => {
    await api.request("POST", path, { body: { name: "First", slug: "taken" } });
    const before = await api.request("GET", path);
    const response = await api.request("POST", path, { as: "bob", body: { name: "Second", slug: "taken" } });
    expect(response.status).toBe(409);
    expect(response.body.error).toMatchObject({
      code: "already_exists",
      details: [{ field: "slug", code: "duplicate" }],
    });
    expect((await api.request("GET", path)).body.items).toHaveLength(before.body.items.length);
  });

  test("of a name that another has gives another slug", async () => {
    const first = await api.request("POST", path, { body: { name: "Same name" } });
    const second = await api.request("POST", path, { as: "bob", body: { name: "Same name" } });
    expect(second.status).toBe(201);
    expect(second.body.slug).not.toBe(first.body.slug);
    expect(second.body.slug).toMatch(/^same-name-/);
  });

  test("of a name whose slug, and that with 6 digits of the id, others have gives one with 12", async () => {
    const me = await api.request("GET", "/api/v1/me");
    const author = systemAuthor("test", me.body.principal.id);
    const create = (slug: string | undefined) => {
      const id = createId().replace(/.{6}$/, "9d2e11");
      const input = { id, name: "Frequent", slug, billingEmail: null, vatId: null, labels: {} };
      return api.deps.db.transaction((tx) => createOrganization(tx, author, input));
    };
    await create("frequent");
    await create("frequent-9d2e11");
    expect((await create(undefined)).slug).toMatch(/^frequent-[0-9a-f]{6}9d2e11$/);
  });
});

describe("reading organizations", () => {
  test("shows only one's own, in the order of creation, page by page", async () => {
    const mine = [await api.createOrganization("staff"), await api.createOrganization("staff")];
    await api.createOrganization("bob");
    const first = await api.request("GET", `${path}?limit=1`, { as: "staff" });
    expect(first.body.items.map((item: { id: string }) => item.id)).toEqual([mine[0]]);
    const second = await api.request("GET", `${path}?limit=1&cursor=${first.body.next_cursor}`, {
      as: "staff",
    });
    expect(second.body.items.map((item: { id: string }) => item.id)).toEqual([mine[1]]);
    expect(second.body.next_cursor).toBeNull();
  });

  test("with a slug shows the one of one's own that has it, and nothing of others", async () => {
    const orgIds = [await api.createOrganization("bob"), await api.createOrganization("bob")];
    const { slug } = (await api.request("GET", `${path}/${orgIds[1]}`, { as: "bob" })).body;
    const list = async (as: "alice" | "bob", more = "") =>
      (await api.request("GET", `${path}?slug=${slug}${more}`, { as })).body.items;
    expect(await list("bob")).toMatchObject([{ id: orgIds[1], slug }]);
    expect(await list("bob", `&cursor=${orgIds[1]}`)).toEqual([]);
    expect(await list("alice")).toEqual([]);
  });

  test("returns 304 for the current version", async () => {
    const orgId = await api.createOrganization();
    const response = await api.request("GET", `${path}/${orgId}`);
    const tag = response.headers.get("etag") ?? "";
    const again = await api.request("GET", `${path}/${orgId}`, { headers: { "if-none-match": tag } });
    expect(again.status).toBe(304);
    expect(again.body).toBe("");
  });

  test("of another person gives the same response as one that does not exist", async () => {
    const orgId = await api.createOrganization("alice");
    const foreign = await api.request("GET", `${path}/${orgId}`, { as: "bob" });
    const missing = await api.request("GET", `${path}/0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11`, { as: "bob" });
    expect(foreign.status).toBe(404);
    delete foreign.body.error.request_id;
    delete missing.body.error.request_id;
    expect(foreign.body).toEqual(missing.body);
  });

  test("takes an id in upper case", async () => {
    const orgId = await api.createOrganization();
    expect((await api.request("GET", `${path}/${orgId.toUpperCase()}`)).body.id).toBe(orgId);
  });

  test.each(["owner", "admin", "member", "billing", "viewer"] as const)(
    "is allowed to a %s",
    async (role) => {
      const orgId = await api.createOrganization("alice");
      await api.addMember(orgId, "bob", role);
      expect((await api.request("GET", `${path}/${orgId}`, { as: "bob" })).status).toBe(200);
    },
  );
});
