import { expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { projectObservations } from "../../resources/project/index.ts";
import { projected } from "../../resources/project/testing.ts";
import { startTestApp } from "../../testing/app.ts";
import { registryJobs } from "../index.ts";

const api = setUp(() => startTestApp({ registry: {} }));

const collectionOf = (orgId: string) => `/api/v1/organizations/${orgId}/registry/credentials`;

async function addCluster(orgId: string) {
  const object = projected(orgId, 1);
  await api.deps.db.transaction((tx) => projectObservations(tx, [{ object }]));
  const remove = () => api.deps.db.transaction((tx) => projectObservations(tx, [{ object, deleted: true }]));
  return { cluster_id: object.id, remove };
}

async function create(orgId: string, cluster_id: string) {
  const created = await api.request("POST", collectionOf(orgId), { body: { cluster_id } });
  expect(created.status).toBe(201);
  return created;
}

const requestToken = (password: string) =>
  api.request("GET", "/registry/token?service=x", {
    as: null,
    headers: { authorization: `Basic ${Buffer.from(`cluster:${password}`).toString("base64")}` },
  });

test("a credential of a deleted cluster is neither listed nor found, and its row is deleted", async () => {
  const [orgId, other] = [await api.createOrganization(), await api.createOrganization()];
  const [ending, kept] = [await addCluster(orgId), await addCluster(other)];
  const ended = (await create(orgId, ending.cluster_id)).body;
  const { password } = (await create(other, kept.cluster_id)).body;
  await ending.remove();
  expect((await api.request("GET", collectionOf(orgId))).body.items).toEqual([]);
  expect((await api.request("DELETE", `${collectionOf(orgId)}/${ended.id}`)).status).toBe(404);
  const purge = registryJobs(api.deps).find(({ name }) => name === "purge-registry-credentials");
  await purge?.run(new AbortController().signal);
  expect(await api.deps.sql`select id from registry_credentials where id = ${ended.id}`).toEqual([]);
  expect((await requestToken(password)).status).toBe(200);
});

test("one credential too many of the organization is 422 quota_exceeded, which names its store", async () => {
  const orgId = await api.createOrganization();
  const { cluster_id } = await addCluster(orgId);
  await api.deps.sql`insert into registry_credentials (id, org_id, cluster_id, secret_hash, created_at)
    select gen_random_uuid(), ${orgId}, ${cluster_id}, '', now() from generate_series(1, 999)`;
  await create(orgId, cluster_id);
  const refused = await api.request("POST", collectionOf(orgId), { body: { cluster_id } });
  expect([refused.status, refused.body.error]).toMatchObject([
    422,
    { code: "quota_exceeded", details: [{ field: "registry_credentials" }] },
  ]);
});

test("tokens for a cluster count against a quota of its credential", async () => {
  const orgId = await api.createOrganization();
  const { password } = (await create(orgId, (await addCluster(orgId)).cluster_id)).body;
  const { status, headers } = await requestToken(password);
  expect([status, headers.get("ratelimit")]).toEqual([200, expect.stringContaining('"default"')]);
});

test("a credential that is not valid is asked for by HTTP Basic, which clients of registries speak", async () => {
  const orgId = await api.createOrganization();
  const { id, password } = (await create(orgId, (await addCluster(orgId)).cluster_id)).body;
  await api.request("DELETE", `${collectionOf(orgId)}/${id}`);
  const { status, headers } = await requestToken(password);
  expect([status, headers.get("www-authenticate")]).toEqual([401, expect.stringMatching(/^Basic /)]);
});

test("the response with the password may not be stored", async () => {
  const orgId = await api.createOrganization();
  const { headers } = await create(orgId, (await addCluster(orgId)).cluster_id);
  expect(headers.get("cache-control")).toBe("no-store");
});
