import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubectl, readStack, waitFor } from "../../platform/stack/testing.ts";
import { USERS } from "../../platform/stack/users.ts";
import { createTenant, type Tenant } from "../../testing/tenant.ts";
import { createRealCluster, issueKubeconfig, type RealCluster } from "./real-cluster.ts";

const stack = readStack();
const bob = createTenant(stack.apiUrl, stack.tokens.bob);
let cluster: RealCluster;
let organization: string;

beforeAll(async () => {
  cluster = await createRealCluster(stack, "revocation", { nodes: 0 });
  [organization = ""] = /^\/organizations\/[^/]+/.exec(cluster.path) ?? [];
});

afterAll(() => cluster?.remove());

/** Invites bob; returns the id of the membership. */
async function inviteBob(): Promise<string> {
  const invited = await cluster.alice.request("POST", `${organization}/members`, {
    email: USERS.bob.email,
    role: "member",
  });
  expect(invited.status).toBe(201);
  expect((await bob.request("POST", `/me/invitations/${invited.body.id}/accept`)).status).toBe(200);
  return invited.body.id;
}

/**
 * Makes bob a member, of whatever role he was; returns the path of the membership. No test removes him at its end: that
 * would rotate the admin's credentials once more, while the next test downloads them.
 */
async function addBob(): Promise<string> {
  const { body } = await cluster.alice.request("GET", `${organization}/members`);
  const known = body.items.find(({ email }: { email: string }) => email === USERS.bob.email);
  const path = `${organization}/members/${known?.id ?? (await inviteBob())}`;
  expect((await cluster.alice.request("PUT", path, { role: "member" })).status).toBe(200);
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
  const { kubeconfig } = await issueKubeconfig(tenant, cluster.path);
  const file = await store(kubeconfig);
  await ask(file);
  return file;
}

/** Downloads the admin kubeconfig once it works: a rotation may be in progress. */
async function download(tenant: Tenant): Promise<string> {
  return waitFor("an admin kubeconfig that works", async () => {
    const { status, body } = await tenant.request<string>("GET", `${cluster.path}/kubeconfig`);
    if (status !== 200) throw new Error(JSON.stringify(body));
    const file = await store(body);
    await ask(file);
    return file;
  });
}

const ask = (kubeconfig: string) => kubectl(["get", "secrets", "-A"], { kubeconfig });

async function untilRefused(files: Record<string, string>): Promise<void> {
  await Promise.all(
    Object.entries(files).map(([name, kubeconfig]) =>
      waitFor(`${name} to be refused`, () =>
        ask(kubeconfig).then(
          () => undefined,
          (error: Error) => error.message.includes("Forbidden"),
        ),
      ),
    ),
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
    await download(cluster.alice);
  });

  test("to a member who becomes a viewer", async () => {
    const membership = await addBob();
    const [own, admin] = [await issue(bob), await download(bob)];
    const changed = await cluster.alice.request("PUT", membership, { role: "viewer" });
    expect(changed.status).toBe(200);
    await untilRefused({ own, admin });
  });

  test("to an API token that is revoked, by its own kubeconfig and the admin's; rotation leaves the admin's", async () => {
    await addBob();
    const [rotated, revoked] = [await createToken(), await createToken()];
    const [ofRotated, ofRevoked] = [await issue(rotated.tenant), await issue(revoked.tenant)];
    const admin = await download(rotated.tenant);
    expect((await bob.request("POST", `${rotated.path}/rotate`)).status).toBe(200);
    await untilRefused({ ofRotated });
    await ask(admin);
    await download(revoked.tenant);
    expect((await bob.request("DELETE", revoked.path)).status).toBe(204);
    await untilRefused({ ofRevoked, admin });
  });
});

test("a rotation of the admin's credentials is an event of the cluster", async () => {
  const event = await waitFor(
    "the event that says so",
    async () => {
      const { items } = await cluster.getManaged("events.k8s.io/v1", "events");
      const found = items.find(({ reason }: { reason: string }) => reason === "AdminCredentialsRotated");
      // An operator that ends between the write and its event leaves none: the next rotation has one.
      if (found === undefined) await cluster.alice.request("POST", `${cluster.path}/credentials/rotate`);
      return found;
    },
    { intervalMs: 10_000 },
  );
  expect(event).toMatchObject({ type: "Normal", regarding: { kind: "Cluster", name: cluster.name } });
});
