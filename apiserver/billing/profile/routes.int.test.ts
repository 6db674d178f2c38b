import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { organizations } from "../../organizations/index.ts";
import { startTestApp } from "../../testing/app.ts";

const api = setUp(startTestApp);
let organization: string;

beforeEach(async () => {
  organization = `/api/v1/organizations/${await api.createOrganization()}`;
});

const PROFILE = {
  name: "Example Ltd",
  street: "Main Street 1",
  postal_code: "10115",
  city: "Berlin",
  country: "DE",
  vat_id: "DE123456789",
  tax_number: "12/345/67890",
  buyer_reference: "Department 7",
  purchase_order: "PO-2026-1234",
  billing_email: "billing@example.com",
};
const EMPTY = Object.fromEntries(Object.keys(PROFILE).map((name) => [name, null]));
const get = (headers = {}) => api.request("GET", `${organization}/billing/profile`, { headers });
const put = (body: unknown, headers = {}) =>
  api.request("PUT", `${organization}/billing/profile`, { body, headers });

test("a profile is empty at first, and changed in parts", async () => {
  expect((await get()).body).toMatchObject(EMPTY);
  expect(await put(PROFILE)).toMatchObject({ status: 200, body: PROFILE });
  expect((await put({ city: null, country: "FR" })).body).toMatchObject({
    ...PROFILE,
    city: null,
    country: "FR",
  });
  const read = await get();
  expect((await put(read.body)).body).toEqual(read.body);
  expect((await get()).headers.get("etag")).toBe(read.headers.get("etag"));
});

test("the VAT id and the e-mail address are those of the organization, both ways", async () => {
  await put(PROFILE);
  expect((await api.request("GET", organization)).body).toMatchObject({
    vat_id: PROFILE.vat_id,
    billing_email: PROFILE.billing_email,
  });
  await api.request("PUT", organization, { body: { vat_id: null, billing_email: "other@example.com" } });
  expect((await get()).body).toMatchObject({ ...PROFILE, vat_id: null, billing_email: "other@example.com" });
});

test("a VAT id has the form of its country, and one that was stored earlier without it can be sent back", async () => {
  const details = [expect.objectContaining({ field: "vat_id", code: "invalid_format" })];
  const refused = { status: 422, body: { error: expect.objectContaining({ details }) } };
  for (const vat_id of ["XX anything", "GBnonsense", "US12-3456789"]) {
    expect(await put({ vat_id })).toMatchObject(refused);
    expect(await api.request("PUT", organization, { body: { vat_id } })).toMatchObject(refused);
    expect(await api.request("POST", "/api/v1/organizations", { body: { name: "A", vat_id } })).toMatchObject(
      refused,
    );
  }
  expect((await put({ vat_id: "NO123456789MVA", tax_number: "US12-3456789" })).status).toBe(200);
  const id = organization.split("/").at(-1) ?? "";
  await api.deps.db.update(organizations).set({ vatId: "US12-3456789" }).where(eq(organizations.id, id));
  const read = await get();
  expect(await put({ ...read.body, city: "Boston" })).toMatchObject({
    status: 200,
    body: { vat_id: "US12-3456789", city: "Boston" },
  });
});

test("If-Match and If-None-Match are obeyed, and a change is in the audit log", async () => {
  const etag = (await get()).headers.get("etag") ?? "";
  expect((await get({ "if-none-match": etag })).status).toBe(304);
  expect((await put(PROFILE, { "if-match": '"99"' })).status).toBe(412);
  expect((await put(PROFILE, { "if-match": etag })).status).toBe(200);
  const { items } = (await api.request("GET", `${organization}/audit-log`)).body;
  const [entry] = items.filter((item: { action: string }) => item.action === "billing_profile.update");
  expect(entry).toMatchObject({ before: EMPTY, after: PROFILE });
});

test("an organization that is being deleted keeps its profile: 409", async () => {
  const id = organization.split("/").at(-1) ?? "";
  await api.deps.db.update(organizations).set({ deletingAt: new Date() }).where(eq(organizations.id, id));
  expect(await put(PROFILE)).toMatchObject({ status: 409, body: { error: { code: "conflict" } } });
  expect((await get()).body).toMatchObject(EMPTY);
});

test.each([
  [{ country: "de" }, ["country/invalid_format"]],
  [{ country: "EL" }, ["country/invalid_format"]],
  [{ country: "Germany" }, ["country/too_long", "country/invalid_format"]],
  [{ name: "" }, ["name/too_short", "name/invalid_format"]],
  [{ name: "two\nlines" }, ["name/invalid_format"]],
  [{ vat_id: "DE1", billing_email: "nobody" }, ["vat_id/invalid_format", "billing_email/invalid_format"]],
  [{ org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11" }, ["org_id/immutable"]],
  [{ company: "x" }, ["company/unknown_field"]],
])("%j is refused with each fault named", async (body, faults) => {
  const refused = await put(body);
  expect(refused.status).toBe(422);
  const found = refused.body.error.details.map(
    (detail: { field: string; code: string }) => `${detail.field}/${detail.code}`,
  );
  expect(found).toEqual(faults);
});
