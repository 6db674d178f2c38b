import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubectl, readStack, waitFor } from "../../platform/stack/testing.ts";
import { USERS } from "../../platform/stack/users.ts";
import { createTenant, type Tenant } from "../../testing/tenant.ts";
import { createRealCluster, type RealCluster } from "./real-cluster.ts";

const stack = readStack();
const bob = createTenant(stack.apiUrl, stack.tokens.bob);
let cluster: RealCluster;
let organization: string;

beforeAll(async () => {
  cluster = await createRealCluster(stack, "revocation", { nodes: 0 });
  [organization = ""] = /^\/organizations\/[^/]+/.exec(cluster.path) ?? [];
});

afterAll(() => cluster?.remove());

/** Makes bob a member; returns the path of the membership. */
async function addBob(): Promise<string> {
  const invited = await cluster.alice.request("POST", `${organization}/members`, {
    email: USERS.bob.email,
    role: "member",
  });
  expect(invited.status).toBe(201);
  const path = `${organization}/members/${invited.body.id}`;
  expect((await bob.request("POST", `/me/invitations/${invited.body.id}/accept`)).status).toBe(200);
  return path;
}

async function createToken(): Promise<{ path: string; tenant: Tenant }> {
  const body = { name: "pipeline", role: "member", scopes: ["clusters:access"] };
  const created = await bob.request("POST", `${organization}/api-tokens`, body);
  expect(created.status).toBe(201);
  const path = `${organization}/api-tokens/${created.body.id}`;
  return { path, tenant: createTenant(stack.apiUrl, created.body.token) };
}

let files = 0;
async function store(kubeconfig: string): Promise<string> {
  const file = `${cluster.kubeconfig}-${files++}`;
  await writeFile(file, kubeconfig, { mode: 0o600 });
  return file;
}

/** Issues a separate kubeconfig for a caller, and checks that it works from its first use. */
async function issue(tenant: Tenant): Promise<string> {
  const { status, body } = await tenant.request("POST", `${cluster.path}/kubeconfig`, { ttl_seconds: 600 });
  expect(status).toBe(201);
  const file = await store(body.kubeconfig);
  await ask(file);
  return file;
}

async function download(tenant: Tenant): Promise<string> {
  const { status, body } = await tenant.request<string>("GET", `${cluster.path}/kubeconfig`);
  expect(status).toBe(200);
  const file = await store(body);
  await ask(file);
  return file;
}

const ask = (kubeconfig: string) => kubectl(["get", "secrets", "-A"], { kubeconfig });

async function untilRefused(files: Record<string, string>): Promise<void> {
  await Promise.all(
    Object.entries(files).map(async ([name, kubeconfig]) => {
      const refusal = await waitFor(`${name} to be refused`, () =>
        ask(kubeconfig).then(
          () => undefined,
          (error: Error) => error,
        ),
      );
      expect(refusal.message).toContain("Forbidden");
    }),
  );
}

describe("kubectl is refused", () => {
  test("to a removed member, by every kubeconfig that the person or the person's token got", async () => {
    const membership = await addBob();
    const { tenant } = await createToken();
    const own = await issue(bob);
    const ofToken = await issue(tenant);
    const admin = await download(bob);
    const kept = await issue(cluster.alice);
    expect((await cluster.alice.request("DELETE", membership)).status).toBe(204);
    await untilRefused({ own, ofToken, admin });
    await ask(kept);
    await waitFor("a new admin kubeconfig", async () => download(cluster.alice).catch(() => undefined));
    await waitFor("the event that says so", async () =>
      (await cluster.manage("get", "events", "-o", "json")).includes("AdminCredentialsRotated"),
    );
  });

  test("to a member who becomes a viewer", async () => {
    const membership = await addBob();
    const [own, admin] = [await issue(bob), await download(bob)];
    const changed = await cluster.alice.request("PUT", membership, { role: "viewer" });
    expect(changed.status).toBe(200);
    await untilRefused({ own, admin });
    await cluster.alice.request("DELETE", membership);
  });

  test("to an API token that is revoked, by its own kubeconfig and the admin's; rotation leaves the admin's", async () => {
    const membership = await addBob();
    const [rotated, revoked] = [await createToken(), await createToken()];
    const [ofRotated, ofRevoked] = [await issue(rotated.tenant), await issue(revoked.tenant)];
    const admin = await download(rotated.tenant);
    expect((await bob.request("POST", `${rotated.path}/rotate`)).status).toBe(200);
    await untilRefused({ ofRotated });
    await ask(admin);
    await download(revoked.tenant);
    expect((await bob.request("DELETE", revoked.path)).status).toBe(204);
    await untilRefused({ ofRevoked, admin });
    await cluster.alice.request("DELETE", membership);
  });
});
