import { expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestApp } from "../../testing/app.ts";
import { repositoryPrefix } from "../names.ts";
import { recordPushGrant } from "../store.ts";
import { testRegistry } from "../testing.ts";

// A registry that does not answer.
const api = setUp(() => startTestApp({ registry: { url: "http://127.0.0.1:9" } }));

const remove = (orgId: string) => api.request("DELETE", `/api/v1/organizations/${orgId}`);

async function takeToken(orgId: string, actions: string): Promise<void> {
  const body = { name: "ci", role: "member", scopes: ["registry:read", "registry:write"] };
  const created = await api.request("POST", `/api/v1/organizations/${orgId}/api-tokens`, { body });
  const authorization = `Basic ${Buffer.from(`ci:${created.body.token}`).toString("base64")}`;
  const path = `/registry/token?service=x&scope=repository:${repositoryPrefix(orgId)}web:${actions}`;
  const token = await api.request("GET", path, { as: null, headers: { authorization } });
  expect(token.status).toBe(200);
}

/** Sends the notification that the registry sends after a push. */
async function notifyOfPush(orgId: string): Promise<void> {
  const target = {
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    repository: `${repositoryPrefix(orgId)}web`,
    digest: `sha256:${"a".repeat(64)}`,
    size: 500,
  };
  const headers = { authorization: `Bearer ${testRegistry(api).notificationToken}` };
  const body = { events: [{ id: "1", action: "push", target }] };
  const accepted = await api.request("POST", "/registry/notifications", { as: null, headers, body });
  expect(accepted.status).toBe(204);
}

test.each([
  { history: "was never given a token", prepare: async () => undefined, status: 204 },
  {
    history: "was only given tokens to pull",
    prepare: (orgId: string) => takeToken(orgId, "pull"),
    status: 204,
  },
  {
    history: "was given a token to push",
    prepare: (orgId: string) => takeToken(orgId, "pull,push"),
    status: 503,
  },
  { history: "was pushed for without a token of ours", prepare: notifyOfPush, status: 503 },
])("while the registry does not answer, an organization that $history is $status to delete", async (row) => {
  const orgId = await api.createOrganization();
  await row.prepare(orgId);
  expect((await remove(orgId)).status).toBe(row.status);
});

test("an organization that is deleted gets no token to push that its deletion could overlook", async () => {
  const orgId = await api.createOrganization();
  expect((await remove(orgId)).status).toBe(204);
  await expect(recordPushGrant(api.deps.db, orgId)).rejects.toMatchObject({ code: "not_found" });
});
