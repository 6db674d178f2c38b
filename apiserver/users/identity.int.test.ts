import { desc, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditLog } from "../audit/table.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { startTestIssuer, type TestIssuer } from "../testing/issuer.ts";

let first: TestIssuer;
let second: TestIssuer;
let api: TestApp;
/** Without what the first has verified and cached. */
let replica: TestApp;
beforeAll(async () => {
  [first, second] = [await startTestIssuer(), await startTestIssuer()];
  const issuers = [first.config, second.config];
  api = await startTestApp({ issuers });
  replica = await startTestApp({ issuers, replicaOf: api });
});
afterAll(async () => {
  await replica.close();
  await api.close();
  first.close();
  second.close();
});

const identityOf = (userId: string) => `/api/v1/admin/users/${userId}/identity`;

/** A user id that both issuers have given, presented by the first one. */
async function collide() {
  const person = await first.createPerson();
  const rightful = { ...person, token: await second.sign(person) };
  expect(await api.request("GET", "/api/v1/me", { token: person.token })).toMatchObject({ status: 200 });
  expect(await api.request("GET", "/api/v1/me", { token: rightful.token })).toMatchObject({ status: 401 });
  return { person, rightful, path: identityOf(person.userId) };
}

describe("a user id that two issuers have given", () => {
  test("is accepted from the issuer that staff gives it to, and refused from the other", async () => {
    const { person, rightful, path } = await collide();
    const before = await api.request("GET", path, { as: "staff" });
    expect(before).toMatchObject({ status: 200, body: { issuer: first.config.issuer, email: person.email } });
    const headers = { "if-match": before.headers.get("etag") ?? "" };
    const body = { ...before.body, issuer: second.config.issuer };
    const changed = await api.request("PUT", path, { as: "staff", body, headers });
    expect(changed).toMatchObject({ status: 200, body: { issuer: second.config.issuer, email: null } });
    for (const app of [api, replica]) {
      expect(await app.request("GET", "/api/v1/me", { token: rightful.token })).toMatchObject({
        status: 200,
      });
    }
    expect(await replica.request("GET", "/api/v1/me", { token: person.token })).toMatchObject({
      status: 401,
    });
    expect(await api.request("PUT", path, { as: "staff", body, headers })).toMatchObject({ status: 412 });
  });

  test("changes its issuer with one row of the audit log", async () => {
    const { person, path } = await collide();
    const body = { issuer: second.config.issuer };
    for (const _ of [1, 2]) await api.request("PUT", path, { as: "staff", body });
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(eq(auditLog.targetId, person.userId))
      .orderBy(desc(auditLog.id));
    expect(rows).toMatchObject([
      { action: "user.set_issuer", before: { issuer: first.config.issuer }, after: body },
    ]);
  });

  test("cannot be given to an issuer that is not configured", async () => {
    const { path } = await collide();
    const response = await api.request("PUT", path, {
      as: "staff",
      body: { issuer: "https://other.example" },
    });
    expect(response.status).toBe(422);
    expect(response.body.error.details).toMatchObject([{ field: "issuer", code: "invalid_enum" }]);
    expect(await api.request("GET", path, { as: "staff" })).toMatchObject({
      body: { issuer: first.config.issuer },
    });
  });
});
