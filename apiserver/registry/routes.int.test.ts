import { createLocalJWKSet, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { readStack, waitFor, waitForRegistry } from "../../e2e/platform/stack/testing.ts";
import { startProjector } from "../resources/project/projector.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { recordPushGrant } from "./store.ts";
import { pushBlob, pushTestImage, pushTestIndex, testRegistry } from "./testing.ts";

let api: TestApp;

beforeAll(async () => {
  await waitForRegistry();
  api = await startTestApp({ registry: {} });
});
afterAll(() => api.close());

const registry = () => testRegistry(api);
const collectionOf = (orgId: string) => `/api/v1/organizations/${orgId}/registry/repositories`;
const tagsOf = (orgId: string, repository: string) =>
  `${collectionOf(orgId)}/${encodeURIComponent(repository)}/tags`;
const names = (body: { items: { name: string }[] }) => body.items.map(({ name }) => name);

describe("repositories", () => {
  test("of the own organization are listed in pages by name, and those of others are not", async () => {
    const [orgId, other] = [await api.createOrganization(), await api.createOrganization()];
    for (const repository of ["web", "api/v1", "db"])
      await pushTestImage(registry(), { orgId, repository, tag: "1" }, { zlib: "1" });
    await pushTestImage(registry(), { orgId: other, repository: "secret", tag: "1" }, { zlib: "1" });
    const first = await api.request("GET", `${collectionOf(orgId)}?limit=2`);
    expect(first.body.items).toEqual(
      ["api/v1", "db"].map((name) => ({ name, image: `${registry().host}/org-${orgId}/${name}` })),
    );
    const next = await api.request("GET", `${collectionOf(orgId)}?limit=2&cursor=${first.body.next_cursor}`);
    expect(next.body).toMatchObject({ items: [{ name: "web" }], next_cursor: null });
  });

  test("that are deleted are listed no longer and are 404, with every tag", async () => {
    const orgId = await api.createOrganization();
    for (const tag of ["1", "2"])
      await pushTestImage(registry(), { orgId, repository: "team/web", tag }, { zlib: tag });
    await pushTestImage(registry(), { orgId, repository: "kept", tag: "1" }, { zlib: "1" });
    const record = `${collectionOf(orgId)}/team%2Fweb`;
    const read = await api.request("GET", record);
    expect(read.body).toMatchObject({ name: "team/web", tag_count: 2 });
    const late = { headers: { "if-match": read.headers.get("etag") ?? "" } };
    await api.request("DELETE", `${record}/tags/2`);
    expect((await api.request("DELETE", record, late)).status).toBe(412);
    expect((await api.request("DELETE", record)).status).toBe(204);
    expect(names((await api.request("GET", collectionOf(orgId))).body)).toEqual(["kept"]);
    expect((await api.request("GET", tagsOf(orgId, "team/web"))).status).toBe(404);
    expect((await api.request("DELETE", record)).status).toBe(404);
  });

  test.each(["..%2F..", "%2Fweb", "Web", "a".repeat(201), "web%2F", "w%C3%A9b", "org%20x"])(
    "a name that can be none is 404: %s",
    async (name) => {
      const orgId = await api.createOrganization();
      const path = `${collectionOf(orgId)}/${name}`;
      expect((await api.request("GET", `${path}/tags`)).status).toBe(404);
      expect((await api.request("DELETE", path)).status).toBe(404);
      expect((await api.request("GET", `${path}/tags/1/scan`)).status).toBe(404);
    },
  );
});

describe("tags", () => {
  test("tell the digest and the size of what they name, an index with all its images, each blob once", async () => {
    const orgId = await api.createOrganization();
    const place = { orgId, repository: "web", tag: "1" };
    const image = await pushTestImage(registry(), place, { zlib: "1" });
    const index = await pushTestIndex(registry(), { ...place, tag: "all" }, [image, image]);
    const { body } = await api.request("GET", tagsOf(orgId, "web"));
    const [one, all] = body.items;
    expect(one).toMatchObject({ name: "1", digest: image.digest, media_type: image.mediaType });
    expect(one.size_bytes).toBeGreaterThan(image.size);
    expect(all).toMatchObject({ name: "all", digest: index.digest, size_bytes: one.size_bytes + index.size });
  });

  test("that are deleted leave the other tags of the same image", async () => {
    const orgId = await api.createOrganization();
    for (const tag of ["1", "latest"])
      await pushTestImage(registry(), { orgId, repository: "web", tag }, { zlib: "1" });
    const moved = { headers: { "if-match": `"${"0".repeat(32)}"` } };
    expect((await api.request("DELETE", `${tagsOf(orgId, "web")}/latest`, moved)).status).toBe(412);
    expect((await api.request("DELETE", `${tagsOf(orgId, "web")}/latest`)).status).toBe(204);
    expect(names((await api.request("GET", tagsOf(orgId, "web"))).body)).toEqual(["1"]);
    expect((await api.request("DELETE", `${tagsOf(orgId, "web")}/latest`)).status).toBe(404);
    expect((await api.request("GET", `${tagsOf(orgId, "web")}/latest/scan`)).status).toBe(404);
  });
});

describe("an organization with images", () => {
  test("is not deleted until its repositories are", async () => {
    const orgId = await api.createOrganization();
    await recordPushGrant(api.deps.db, orgId);
    await pushTestImage(registry(), { orgId, repository: "web", tag: "1" }, { zlib: "1" });
    const remove = () => api.request("DELETE", `/api/v1/organizations/${orgId}`);
    expect((await remove()).body.error).toMatchObject({
      code: "organization_not_empty",
      message: "Delete the organization's repositories first.",
    });
    await api.request("DELETE", `${collectionOf(orgId)}/web`);
    expect((await remove()).status).toBe(204);
  });
});

describe("a token of the registry", () => {
  const request = (password: string, ...scopes: string[]) =>
    api.request("GET", `/registry/token?service=x&${scopes.map((scope) => `scope=${scope}`).join("&")}`, {
      as: null,
      headers: { authorization: `Basic ${Buffer.from(`anyone:${password}`).toString("base64")}` },
    });
  const createToken = async (orgId: string, scopes: string[]) => {
    const body = { name: "registry", role: "member", scopes };
    const created = await api.request("POST", `/api/v1/organizations/${orgId}/api-tokens`, { body });
    expect(created.status).toBe(201);
    return created.body.token;
  };
  const accessOf = (body: { token: string }) =>
    JSON.parse(Buffer.from(body.token.split(".")[1] ?? "", "base64url").toString()).access;

  test("has the rights of the API token, and leaves out those that it lacks", async () => {
    const orgId = await api.createOrganization();
    const [reader, writer] = [
      await createToken(orgId, ["registry:read"]),
      await createToken(orgId, ["registry:read", "registry:write"]),
    ];
    const name = `org-${orgId}/web`;
    const scope = `repository:${name}:push,pull`;
    const { status, body } = await request(reader, scope);
    expect(status).toBe(200);
    expect(accessOf(body)).toEqual([{ type: "repository", name, actions: ["pull"] }]);
    const written = await request(writer, scope);
    expect(accessOf(written.body)).toEqual([{ type: "repository", name, actions: ["pull", "push"] }]);
  });

  test("names no repository of another organization, and none outside every organization", async () => {
    const [orgId, other] = [await api.createOrganization(), await api.createOrganization("bob")];
    const secret = await createToken(orgId, ["registry:read", "registry:write"]);
    const scopes = [
      `repository:org-${other}/web:pull`,
      "repository:web:pull",
      `repository:org-${orgId}/../org-${other}/web:pull`,
      "registry:catalog:*",
    ];
    const { status, body } = await request(secret, ...scopes);
    expect(status).toBe(200);
    expect(accessOf(body)).toEqual([]);
  });

  test("of somebody whose membership or API token has ended has no rights any more", async () => {
    const orgId = await api.createOrganization();
    const scope = `repository:org-${orgId}/web:pull`;
    await api.addMember(orgId, "bob", "viewer");
    const { bob } = readStack().tokens;
    expect(accessOf((await request(bob, scope)).body)).toHaveLength(1);
    const members = `/api/v1/organizations/${orgId}/members`;
    const { items } = (await api.request("GET", members)).body;
    const { id } = items.find(({ role }: { role: string }) => role === "viewer");
    expect((await api.request("DELETE", `${members}/${id}`)).status).toBe(204);
    expect(accessOf((await request(bob, scope)).body)).toEqual([]);

    const secret = await createToken(orgId, ["registry:read"]);
    expect(accessOf((await request(secret, scope)).body)).toHaveLength(1);
    const tokens = `/api/v1/organizations/${orgId}/api-tokens`;
    const [token] = (await api.request("GET", tokens)).body.items;
    expect((await api.request("DELETE", `${tokens}/${token.id}`)).status).toBe(204);
    expect((await request(secret, scope)).status).toBe(401);
  });

  test("mounts no blob of another organization", async () => {
    const [orgId, other] = [await api.createOrganization(), await api.createOrganization("bob")];
    const foreign = await pushBlob(
      registry(),
      { orgId: other, repository: "web", tag: "1" },
      Buffer.from(other),
    );
    const own = await pushBlob(registry(), { orgId, repository: "source", tag: "1" }, Buffer.from(orgId));
    const secret = await createToken(orgId, ["registry:read", "registry:write"]);
    const mount = async (digest: string, from: string) => {
      const scopes = [`repository:org-${orgId}/web:pull,push`, `repository:${from}:pull`];
      const { token } = (await request(secret, ...scopes)).body;
      const query = new URLSearchParams({ mount: digest, from });
      return fetch(`${registry().url}/v2/org-${orgId}/web/blobs/uploads/?${query.toString()}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
      });
    };
    expect((await mount(own.digest, `org-${orgId}/source`)).status).toBe(201);
    expect((await mount(foreign.digest, `org-${other}/web`)).status).toBe(401);
  });

  test("for the credential of a cluster pulls from its organization, pushes nowhere, and ends with cluster and credential", async () => {
    const [orgId, other] = [await api.createOrganization(), await api.createOrganization()];
    const credentials = `/api/v1/organizations/${orgId}/registry/credentials`;
    const clusters = `/api/v1/organizations/${orgId}/clusters`;
    const cluster = await api.request("POST", clusters, { body: { name: "puller", k8s_version: "1.34" } });
    const body = { cluster_id: cluster.body.id };
    const [first, second] = [
      await api.request("POST", credentials, { body }),
      await api.request("POST", credentials, { body }),
    ];
    expect([first.status, second.status]).toEqual([201, 201]);
    const { username, password, docker_config_json } = first.body;
    expect(JSON.parse(docker_config_json).auths[registry().host]).toMatchObject({ username, password });
    const [own, foreign] = [orgId, other].map((id) => `repository:org-${id}/web:pull,push`);
    const access = [{ type: "repository", name: `org-${orgId}/web`, actions: ["pull"] }];
    expect(accessOf((await request(password, own ?? "", foreign ?? "")).body)).toEqual(access);
    const { items } = (await api.request("GET", credentials)).body;
    expect(items).toMatchObject([
      { id: first.body.id, ...body, last_used_at: expect.any(String) },
      { id: second.body.id, ...body, last_used_at: null },
    ]);
    expect(JSON.stringify(items)).not.toContain(password);
    expect((await api.request("DELETE", `${credentials}/${first.body.id}`)).status).toBe(204);
    expect((await api.request("DELETE", `${credentials}/${first.body.id}`)).status).toBe(404);
    expect((await request(password, own ?? "")).status).toBe(401);
    expect((await request(second.body.password, own ?? "")).status).toBe(200);
    const stop = new AbortController();
    const { stopped } = startProjector(api.deps, stop.signal);
    onTestFinished(() => {
      stop.abort();
      return stopped;
    });
    await api.request("DELETE", `${clusters}/${cluster.body.id}`);
    await waitFor("the credential to end", async () => {
      const { status } = await request(second.body.password, own ?? "");
      return status === 401;
    });
  });

  test("a credential for a cluster of another organization is 422 and names the field", async () => {
    const [orgId, other] = [await api.createOrganization(), await api.createOrganization()];
    const created = await api.request("POST", `/api/v1/organizations/${other}/clusters`, {
      body: { name: "foreign", k8s_version: "1.34" },
    });
    const { status, body } = await api.request(
      "POST",
      `/api/v1/organizations/${orgId}/registry/credentials`,
      {
        body: { cluster_id: created.body.id },
      },
    );
    expect([status, body.error.details[0]]).toMatchObject([422, { field: "cluster_id", code: "not_found" }]);
    await api.request("DELETE", `/api/v1/organizations/${other}/clusters/${created.body.id}`);
  });

  test("is signed with the key that the API server publishes", async () => {
    const { body } = await api.request("GET", "/registry/jwks.json", { as: null });
    const orgId = await api.createOrganization();
    const issued = await request(await createToken(orgId, ["registry:read"]));
    const { payload } = await jwtVerify(issued.body.token, createLocalJWKSet(body), { issuer: "marina" });
    expect(payload).toMatchObject({ aud: "marina-registry", access: [] });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(300);
    expect(JSON.stringify(body)).not.toContain('"d":');
  });

  test("is refused without a valid credential", async () => {
    expect((await request("mar_wrong")).status).toBe(401);
    const anonymous = await api.request("GET", "/registry/token", { as: null });
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers.get("www-authenticate")).toContain("Basic");
  });
});

test("notifications without the registry's credential are refused", async () => {
  const notification = { as: null, body: { events: [] } } as const;
  expect((await api.request("POST", "/registry/notifications", notification)).status).toBe(401);
  const token = registry().notificationToken;
  const headers = { authorization: `Bearer ${token}` };
  const accepted = await api.request("POST", "/registry/notifications", { ...notification, headers });
  expect(accepted.status).toBe(204);
});

test("without a registry, or while it cannot be reached, repositories are 503, and no credential is created", async () => {
  const away = await startTestApp({ replicaOf: api, registry: { url: "http://127.0.0.1:9" } });
  const without = await startTestApp({ replicaOf: api });
  const orgId = await api.createOrganization();
  try {
    for (const path of [collectionOf(orgId), tagsOf(orgId, "web"), `${tagsOf(orgId, "web")}/1/scan`]) {
      const { status, headers } = await away.request("GET", path);
      expect([path, status, headers.get("retry-after")]).toEqual([path, 503, "10"]);
      expect([path, (await without.request("GET", path)).status]).toEqual([path, 503]);
    }
    const body = { cluster_id: orgId };
    const credentials = `/api/v1/organizations/${orgId}/registry/credentials`;
    expect((await without.request("POST", credentials, { body })).status).toBe(503);
    expect((await without.request("GET", "/registry/token", { as: null })).status).toBe(503);
    expect((await without.request("DELETE", `/api/v1/organizations/${orgId}`)).status).toBe(204);
  } finally {
    await away.close();
    await without.close();
  }
});
