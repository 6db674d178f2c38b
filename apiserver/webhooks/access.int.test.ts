import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { addPerson, makeOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { webhookQueues, webhooks } from "./table.ts";
import { createWebhookRequests, WEBHOOK } from "./testing.ts";

const { api, issuer } = setUpTestService();
const requests = createWebhookRequests(api);

describe("listing webhooks", () => {
  test("finds those that are disabled, those that the service disabled, and those that fail", async () => {
    const org = await makeOrganization(api, issuer);
    const [healthy, off, gone, failing] = [
      await requests.make(org),
      await requests.make(org, { enabled: false }),
      await requests.make(org),
      await requests.make(org),
    ];
    await api.deps.db
      .update(webhooks)
      .set({ enabled: false, disabledReason: "gone", disabledAt: new Date() })
      .where(eq(webhooks.id, gone));
    await api.deps.db
      .update(webhookQueues)
      .set({ failingSince: new Date() })
      .where(eq(webhookQueues.webhookId, failing));
    const list = async (query: string) =>
      (await requests.send(org, "GET", query)).body.items.map(({ id }: { id: string }) => id);
    expect(await list("?enabled=true")).toEqual([healthy, failing]);
    expect(await list("?enabled=false")).toEqual([off, gone]);
    expect(await list("?disabled_reason=gone")).toEqual([gone]);
    expect(await list("?disabled_reason=failing")).toEqual([]);
    expect(await list("?failing=true")).toEqual([failing]);
    expect(await list("?failing=false&enabled=true")).toEqual([healthy]);
    expect(await list("?limit=1")).toEqual([healthy]);
    expect(await list(`?limit=2&cursor=${healthy}`)).toEqual([off, gone]);
    expect((await requests.send(org, "GET", "?enabled=yes")).status).toBe(400);
  });

  test("staff sees those of all organizations with their hosts alone", async () => {
    const [org, other] = [await makeOrganization(api, issuer), await makeOrganization(api, issuer)];
    const [id] = [await requests.make(org), await requests.make(other, { enabled: false })];
    const staff = await issuer.createStaff();
    const list = async (query: string) =>
      (await api.request("GET", `/api/v1/admin/webhooks${query}`, { token: staff.token })).body;
    const { items } = await list(`?org_id=${org.id}`);
    expect(items).toMatchObject([{ id, org_id: org.id, host: "hooks.example.com", enabled: true }]);
    expect(JSON.stringify(items)).not.toContain("T0P-SECRET");
    expect((await list(`?org_id=${org.id}&enabled=false`)).items).toEqual([]);
    expect((await list(`?org_id=${other.id}&enabled=false`)).items).toHaveLength(1);
  });
});

test("without a key, changes are 503 and everything else works", async () => {
  const org = await makeOrganization(api, issuer);
  const id = await requests.make(org);
  const { keys } = api.deps.config.webhooks;
  api.deps.config.webhooks.keys = [];
  try {
    for (const [method, path, body] of [
      ["POST", "", WEBHOOK],
      ["PUT", `/${id}`, { enabled: false }],
      ["POST", `/${id}/rotate-secret`, undefined],
      ["POST", `/${id}/test`, undefined],
    ] as const) {
      const response = await requests.send(org, method, path, body);
      expect([response.status, response.body.error.code]).toEqual([503, "dependency_unavailable"]);
    }
    expect((await requests.send(org, "GET", `/${id}`)).status).toBe(200);
    expect((await requests.send(org, "DELETE", `/${id}`)).status).toBe(204);
  } finally {
    api.deps.config.webhooks.keys = keys;
  }
});

test("a member reads webhooks and changes none; the billing role sees none", async () => {
  const org = await makeOrganization(api, issuer);
  const id = await requests.make(org);
  const [member, biller] = [await issuer.createPerson(), await issuer.createPerson()];
  await addPerson(api.deps, org.id, member, "member");
  await addPerson(api.deps, org.id, biller, "billing");
  const as = (token: string, method: string) =>
    api.request(method, `${org.path}/webhooks/${id}`, { token, ...(method === "PUT" ? { body: {} } : {}) });
  expect((await as(member.token, "GET")).status).toBe(200);
  expect((await as(member.token, "PUT")).status).toBe(403);
  expect((await as(biller.token, "GET")).status).toBe(403);
});
