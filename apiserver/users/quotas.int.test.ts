import { desc, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { organizations } from "../organizations/table.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { addPerson, type Person, type TestIssuer } from "../testing/issuer.ts";
import { startTestService } from "../testing/service.ts";

const DEFAULT = 3;

let issuer: TestIssuer;
let api: TestApp;
/** Replicas share the database alone: one replica runs few transactions of one user at once. */
let replicas: TestApp[];
beforeAll(async () => {
  ({ api, issuer } = await startTestService());
  replicas = [api];
  for (let n = 0; n < 3; n++) replicas.push(await startTestApp({ issuers: [issuer.config], replicaOf: api }));
  for (const { deps } of replicas) Object.assign(deps.config.userQuotas, { organizations: DEFAULT });
});
afterAll(async () => {
  for (const replica of replicas.toReversed()) await replica.close();
});

const create = (person: Person, replica = api) =>
  replica.request("POST", "/api/v1/organizations", { token: person.token, body: { name: "Counted" } });

const createMany = (person: Person, number: number) =>
  Promise.all(Array.from({ length: number }, (_, n) => create(person, replicas[n % replicas.length])));

const quotasOf = (person: Pick<Person, "userId">) => `/api/v1/admin/users/${person.userId}/quotas`;

const raise = (person: Person, limit: number | null) =>
  api.request("PUT", quotasOf(person), { as: "staff", body: { organizations: limit } });

describe("the number of organizations of a user", () => {
  test("is bounded, however many are created at once, and the refusal has limit and use", async () => {
    const person = await issuer.createPerson();
    const responses = await createMany(person, DEFAULT + 8);
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(DEFAULT);
    const refused = responses.filter(({ status }) => status === 422);
    expect(refused).toHaveLength(8);
    expect(refused[0]?.body.error).toMatchObject({
      code: "quota_exceeded",
      details: [
        { field: "organizations", message: `the quota is ${DEFAULT}, ${DEFAULT} in use, 1 more requested` },
      ],
    });
    const rows = await api.deps.db
      .select()
      .from(organizations)
      .where(eq(organizations.createdBy, person.userId));
    expect(rows).toHaveLength(DEFAULT);
  });

  test("counts those that the user created and are not deleted, a role in others does not count", async () => {
    const person = await issuer.createPerson();
    const other = await issuer.createPerson();
    await createMany(other, DEFAULT);
    const [created] = await createMany(person, DEFAULT);
    await addPerson(api.deps, created?.body.id, other, "owner");
    expect((await create(person)).status).toBe(422);
    const path = `/api/v1/organizations/${created?.body.id}`;
    // Handing it over frees nothing.
    const { items } = (await api.request("GET", `${path}/members`, { token: other.token })).body;
    const own = items.find((item: { user_id: string }) => item.user_id === person.userId);
    await api.request("DELETE", `${path}/members/${own.id}`, { token: other.token });
    expect((await create(person)).status).toBe(422);
    expect((await api.request("DELETE", path, { token: other.token })).status).toBe(204);
    expect((await create(person)).status).toBe(201);
  });
});

describe("the organizations that a user creates within 30 days", () => {
  const endAll = ({ userId }: Person) =>
    api.deps.db
      .update(organizations)
      .set({ deletedAt: sql`now()` })
      .where(eq(organizations.createdBy, userId));

  test("are four times the quota, deleted ones included, and the staff sees both", async () => {
    const person = await issuer.createPerson();
    for (let round = 0; round < 4; round++) {
      const responses = await createMany(person, DEFAULT);
      expect(responses.map(({ status }) => status)).toEqual(Array(DEFAULT).fill(201));
      await endAll(person);
    }
    const refused = await create(person);
    expect([refused.status, refused.body.error]).toEqual([
      422,
      expect.objectContaining({
        code: "quota_exceeded",
        details: [expect.objectContaining({ field: "organizations_per_30_days", code: "out_of_range" })],
      }),
    ]);
    const { body } = await api.request("GET", quotasOf(person), { as: "staff" });
    expect([body.used, body.effective]).toEqual([
      { organizations: 0, organizations_per_30_days: 4 * DEFAULT },
      { organizations: DEFAULT, organizations_per_30_days: 4 * DEFAULT },
    ]);
    await raise(person, DEFAULT + 1);
    expect((await create(person)).status).toBe(201);
  });

  test("count no longer once they are older", async () => {
    const person = await issuer.createPerson();
    const daysAgo = (days: number) => (Date.now() - days * 86_400_000).toString(16).padStart(12, "0");
    const rows = [31, 29].flatMap((days) =>
      Array.from({ length: 2 * DEFAULT }, () => {
        const [age, id] = [daysAgo(days), createId()];
        return {
          id: `${age.slice(0, 8)}-${age.slice(8)}${id.slice(13)}`,
          name: "Earlier",
          slug: `earlier-${id}`,
          createdBy: person.userId,
          deletedAt: new Date(),
        };
      }),
    );
    await api.deps.db.insert(organizations).values(rows);
    expect((await create(person)).status).toBe(201);
    const { body } = await api.request("GET", quotasOf(person), { as: "staff" });
    expect(body.used.organizations_per_30_days).toBe(2 * DEFAULT + 1);
  });
});

describe("the quotas of a user", () => {
  test("are raised by staff, and set back to the default with null", async () => {
    const person = await issuer.createPerson();
    await createMany(person, DEFAULT);
    const raised = await raise(person, DEFAULT + 1);
    expect(raised).toMatchObject({
      status: 200,
      body: {
        user_id: person.userId,
        organizations: DEFAULT + 1,
        effective: { organizations: DEFAULT + 1 },
        defaults: { organizations: DEFAULT },
        used: { organizations: DEFAULT },
      },
    });
    expect((await create(person)).status).toBe(201);
    expect((await create(person)).status).toBe(422);
    expect((await raise(person, null)).body).toMatchObject({
      organizations: null,
      effective: { organizations: DEFAULT },
      used: { organizations: DEFAULT + 1 },
    });
    expect((await create(person)).status).toBe(422);
  });

  test("are read with an entity tag, and written only to the version that If-Match names", async () => {
    const person = await issuer.createPerson();
    await create(person);
    const read = await api.request("GET", quotasOf(person), { as: "staff" });
    const tag = read.headers.get("etag") ?? "";
    const again = await api.request("GET", quotasOf(person), {
      as: "staff",
      headers: { "if-none-match": tag },
    });
    expect([read.status, again.status]).toEqual([200, 304]);
    const put = (body: object) =>
      api.request("PUT", quotasOf(person), { as: "staff", headers: { "if-match": tag }, body });
    expect((await put({ ...read.body, organizations: 9 })).status).toBe(200);
    expect((await put({ organizations: 10 })).body.error.code).toBe("precondition_failed");
  });

  test("are in the audit log with both limits", async () => {
    const person = await issuer.createPerson();
    await create(person);
    await raise(person, 7);
    const [row] = await api.deps.db
      .select()
      .from(auditLog)
      .where(eq(auditLog.targetId, person.userId))
      .orderBy(desc(auditLog.id));
    expect(row).toMatchObject({
      action: "user.set_quotas",
      actor: { kind: "staff" },
      before: { organizations: null },
      after: { organizations: 7 },
    });
  });

  test("of somebody who never signed in do not exist", async () => {
    const unknown = { userId: createId() };
    const options = { as: "staff", body: { organizations: 7 } } as const;
    expect((await api.request("GET", quotasOf(unknown), { as: "staff" })).status).toBe(404);
    expect((await api.request("PUT", quotasOf(unknown), options)).status).toBe(404);
  });
});
