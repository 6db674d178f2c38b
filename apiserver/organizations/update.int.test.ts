import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { addPerson, makeOrganization, type TestOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";

const { api, issuer } = setUpTestService();

const put = (org: TestOrganization, body: object, headers = {}, token = org.owner.token) =>
  api.request("PUT", org.path, { token, body, headers });

describe("PUT organization", () => {
  test("changes what was sent and leaves the rest", async () => {
    const org = await makeOrganization(api, issuer, {
      billing_email: "a@example.com",
      vat_id: "DE123456789",
    });
    const response = await put(org, { name: "Renamed" });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({
      id: org.id,
      name: "Renamed",
      slug: org.slug,
      billing_email: "a@example.com",
      vat_id: "DE123456789",
      plan: "starter",
    });
    expect(response.headers.get("etag")).toBe('"2"');
    expect(Date.parse(response.body.updated_at)).toBeGreaterThanOrEqual(Date.parse(response.body.created_at));
  });

  test("takes back what GET returned, and writes nothing then", async () => {
    const org = await makeOrganization(api, issuer);
    const read = await api.request("GET", org.path, { token: org.owner.token });
    const response = await put(org, read.body);
    expect(response.body).toEqual(read.body);
    expect(response.headers.get("etag")).toBe(read.headers.get("etag"));
    expect(await api.deps.db.$count(auditLog, eq(auditLog.orgId, org.id))).toBe(1);
  });

  test("replaces the labels, and a change of something else leaves them", async () => {
    const org = await makeOrganization(api, issuer, { labels: { team: "web", stage: "test" } });
    const read = await api.request("GET", org.path, { token: org.owner.token });
    expect(read.body.labels).toEqual({ team: "web", stage: "test" });
    expect((await put(org, { name: "Renamed" })).body.labels).toEqual({ team: "web", stage: "test" });
    expect((await put(org, { labels: { team: "shop" } })).body.labels).toEqual({ team: "shop" });
    const again = await put(org, { labels: { team: "shop" } });
    expect(again.headers.get("etag")).toBe('"3"');
    expect((await put(org, { labels: {} })).body.labels).toEqual({});
    const refused = await put(org, { labels: { "x.k8s.io/y": "" } });
    expect([refused.status, refused.body.error.details[0].field]).toEqual([422, "labels"]);
  });

  test("null clears billing_email and vat_id, and nothing else", async () => {
    const org = await makeOrganization(api, issuer, {
      billing_email: "a@example.com",
      vat_id: "DE123456789",
    });
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
    const response = await put(await makeOrganization(api, issuer), body);
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(fault)).toBe(true);
  });

  test("with plan as it is, is no change of it", async () => {
    expect((await put(await makeOrganization(api, issuer), { plan: "starter" })).status).toBe(200);
  });

  test("with a slug that is taken is 409, and nothing is written", async () => {
    const [first, second] = [await makeOrganization(api, issuer), await makeOrganization(api, issuer)];
    const response = await put(second, { slug: first.slug, name: "Thief" });
    expect(response.status).toBe(409);
    expect(response.body.error).toMatchObject({
      code: "already_exists",
      details: [{ field: "slug", code: "duplicate" }],
    });
    const read = await api.request("GET", second.path, { token: second.owner.token });
    expect(read.body).toMatchObject({ name: "Test", slug: second.slug });
  });

  test("requires the permission of each field that changes", async () => {
    const org = await makeOrganization(api, issuer);
    const biller = await issuer.createPerson();
    await addPerson(api.deps, org.id, biller, "billing");
    const as = (body: object) => put(org, body, {}, biller.token);
    expect((await as({ vat_id: "DE123456789", name: "Test" })).status).toBe(200);
    const refused = await as({ vat_id: null, name: "Mine" });
    expect(refused.status).toBe(403);
    expect(refused.body.error.message).toContain("organization:update");
    const read = await api.request("GET", org.path, { token: biller.token });
    expect(read.body.vat_id).toBe("DE123456789");
  });

  test("two at once with one If-Match: one is 200, the other 412", async () => {
    const org = await makeOrganization(api, issuer);
    const responses = await Promise.all(
      ["A", "B", "C", "D"].map((name) => put(org, { name }, { "if-match": '"1"' })),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412, 412]);
    expect(responses.find(({ status }) => status === 412)?.headers.get("etag")).toBe('"2"');
  });

  test("of different fields at once loses neither", async () => {
    const org = await makeOrganization(api, issuer);
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
    const org = await makeOrganization(api, issuer);
    await put(org, { vat_id: "DE123456789" }, { "x-request-id": "put-1" });
    const [, row] = await api.deps.db
      .select()
      .from(auditLog)
      .where(eq(auditLog.orgId, org.id))
      .orderBy(auditLog.id);
    expect(row).toMatchObject({
      action: "organization.update",
      clientRequestId: "put-1",
      before: { vat_id: null },
      after: { vat_id: "DE123456789" },
    });
  });
});
