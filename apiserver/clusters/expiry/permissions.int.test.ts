import { beforeAll, expect, test } from "vitest";
import { mintFor } from "../../api-tokens/testing.ts";
import type { Scope } from "../../http/authorization/permissions.ts";
import { setUpTestClusters } from "../../testing/service.ts";

const api = setUpTestClusters();

beforeAll(async () => {
  await api.addMember(api.orgId, "bob", "member");
});

const END = "2040-01-01T00:00:00.000Z";
const EARLIER = "2030-01-01T00:00:00.000Z";
const LATER = "2050-01-01T00:00:00.000Z";

/** A token of alice's, the owner. */
async function mint(scopes: Scope[]): Promise<string> {
  const { id: userId } = (await api.request("GET", "/api/v1/me")).body.principal;
  return (await mintFor(api.deps, { userId }, api.orgId, { role: "owner", scopes })).text;
}

/** Created with a plan whose class takes no cluster. */
async function create(name: string, settings: object = {}): Promise<string> {
  const body = { name, k8s_version: "1.34", plan: "scale", ...settings };
  const { status, body: record } = await api.request("POST", api.clusters, { as: "bob", body });
  expect(status).toBe(202);
  return `${api.clusters}/${record.id}`;
}

test("who may not delete a cluster has it deleted by no end date, and may put one off or remove it", async () => {
  const writer = await mint(["clusters:write"]);
  const deleter = await mint(["clusters:write", "clusters:delete"]);
  const endless = await create("Endless", { deletion_protection: true });
  const ending = await create("Ending", { expires_at: END });
  const kept = await create("Kept", { expires_at: END, deletion_protection: true });
  const refused: [path: string, body: object][] = [
    [endless, { deletion_protection: false, expires_at: new Date(Date.now() + 1_000) }],
    [endless, { expires_at: END }],
    [ending, { expires_at: EARLIER }],
    [kept, { deletion_protection: false }],
  ];
  for (const caller of [{ as: "bob" as const }, { token: writer }]) {
    for (const [path, body] of refused)
      for (const query of ["", "?dry_run=true"]) {
        const response = await api.request("PUT", `${path}${query}`, { ...caller, body });
        expect([response.status, response.body.error.code]).toEqual([403, "forbidden"]);
        expect(response.body.error.message).toContain("clusters:delete");
      }
    const { body: current } = await api.request("GET", ending);
    for (const body of [current, { expires_at: LATER }, { expires_at: null }])
      expect((await api.request("PUT", ending, { ...caller, body })).status).toBe(200);
    expect((await api.request("PUT", ending, { body: { expires_at: END } })).status).toBe(200);
  }
  for (const [path, body] of refused.slice(1))
    expect((await api.request("PUT", path, { token: deleter, body })).status).toBe(200);
});

test("the dry run of a deletion reads in the cluster only for who may access it", async () => {
  const path = await create("Inside");
  const readLeftovers = async (scopes: Scope[]) => {
    const { status, body } = await api.request("DELETE", `${path}?dry_run=true`, {
      token: await mint(scopes),
    });
    expect(status).toBe(200);
    return body.effects.leftovers;
  };
  const refusal = { unknown: "It takes the permission clusters:access." };
  expect(await readLeftovers(["clusters:delete"])).toEqual(refusal);
  const { unknown } = await readLeftovers(["clusters:delete", "clusters:access"]);
  expect(unknown).not.toBe(refusal.unknown);
});
