import { eq, sql } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { makeOrganization, type TestOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { apiTokenJobs } from "./jobs.ts";
import { purgeRevokedTokens } from "./store.ts";
import { apiTokens } from "./table.ts";

const LIMIT = 4;

const { api, issuer } = setUpTestService();
beforeAll(async () => {
  api.deps.config.maxApiTokensPerOrganization = LIMIT;
});

const mint = (org: TestOrganization) =>
  api.request("POST", `${org.path}/api-tokens`, {
    token: org.owner.token,
    body: { name: "one of many", role: "viewer", scopes: ["clusters:read"] },
  });

const mintMany = (org: TestOrganization, number: number) =>
  Promise.all(Array.from({ length: number }, () => mint(org)));

const expire = (id: string) =>
  api.deps.db
    .update(apiTokens)
    .set({ expiresAt: sql`now() - interval '1 second'` })
    .where(eq(apiTokens.id, id));

describe("the number of API tokens of an organization", () => {
  test("is bounded, however many are created at once, and the refusal has limit and use", async () => {
    const org = await makeOrganization(api, issuer);
    const responses = await mintMany(org, LIMIT + 6);
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(LIMIT);
    const refused = responses.filter(({ status }) => status === 422);
    expect(refused).toHaveLength(6);
    expect(refused[0]?.body.error).toMatchObject({
      code: "quota_exceeded",
      details: [{ field: "api_tokens", message: `the quota is ${LIMIT}, ${LIMIT} in use, 1 more requested` }],
    });
    expect((await mint(await makeOrganization(api, issuer))).status).toBe(201);
  });

  test("counts live ones only: a revoked and an expired one make room", async () => {
    const org = await makeOrganization(api, issuer);
    const [revoked, expired] = await mintMany(org, LIMIT);
    expect((await mint(org)).status).toBe(422);
    const path = `${org.path}/api-tokens/${revoked?.body.id}`;
    expect((await api.request("DELETE", path, { token: org.owner.token })).status).toBe(204);
    await expire(expired?.body.id);
    expect((await mintMany(org, 2)).map(({ status }) => status)).toEqual([201, 201]);
    expect((await mint(org)).status).toBe(422);
  });

  test("is not passed by rotating an expired one; a live one is rotated in any case", async () => {
    const org = await makeOrganization(api, issuer);
    const [expired, live] = await mintMany(org, LIMIT);
    await expire(expired?.body.id);
    expect((await mint(org)).status).toBe(201);
    const rotate = (id: string) =>
      api.request("POST", `${org.path}/api-tokens/${id}/rotate`, { token: org.owner.token });
    expect((await rotate(expired?.body.id)).body.error.code).toBe("quota_exceeded");
    expect((await rotate(live?.body.id)).status).toBe(200);
  });
});

test("a purge of revoked tokens deletes no more than its limit, whatever the plan", async () => {
  const org = await makeOrganization(api, issuer);
  await mintMany(org, 3);
  const revokedAt = sql`now() - interval '31 days'`;
  await api.deps.db.update(apiTokens).set({ revokedAt }).where(eq(apiTokens.orgId, org.id));
  const purged = await api.deps.db.transaction(async (tx) => {
    for (const plan of ["hashjoin", "mergejoin", "hashagg", "sort", "material"])
      await tx.execute(sql.raw(`set local enable_${plan} = off`));
    return purgeRevokedTokens(tx, 1);
  });
  expect(purged).toBe(1);
});

test("a token is deleted 30 days after it was revoked, one that was revoked later or not at all stays", async () => {
  const org = await makeOrganization(api, issuer);
  const ids = (await mintMany(org, 3)).map(({ body }) => body.id as string);
  const [old = "", recent = "", live = ""] = ids;
  const revoke = (id: string, days: number) =>
    api.deps.db
      .update(apiTokens)
      .set({ revokedAt: sql`now() - make_interval(days => ${days})` })
      .where(eq(apiTokens.id, id));
  await revoke(old, 31);
  await revoke(recent, 29);
  for (const job of apiTokenJobs(api.deps)) await job.run(new AbortController().signal);
  const rows = await api.deps.db.select().from(apiTokens).where(eq(apiTokens.orgId, org.id));
  expect(rows.map(({ id }) => id).toSorted()).toEqual([recent, live].toSorted());
});
