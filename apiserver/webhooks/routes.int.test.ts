import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { makeOrganization, type TestOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { webhookQueues, webhooks } from "./table.ts";
import { createWebhookRequests, WEBHOOK } from "./testing.ts";

const { api, issuer } = setUpTestService();
const requests = createWebhookRequests(api);

const create = (org: TestOrganization, body: object = WEBHOOK, headers = {}) =>
  requests.send(org, "POST", "", body, headers);

describe("creating a webhook", () => {
  test("returns 201 with the secret, and the defaults", async () => {
    const org = await makeOrganization(api, issuer);
    const response = await create(org);
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({
      org_id: org.id,
      ...WEBHOOK,
      description: "",
      enabled: true,
      disabled_reason: null,
      disabled_at: null,
      failing_since: null,
      last_delivery_at: null,
      last_status: null,
    });
    expect(response.body.secret).toMatch(/^whsec_[0-9a-f]{64}$/);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("location")).toBe(`${org.path}/webhooks/${response.body.id}`);
    const read = await requests.send(org, "GET", `/${response.body.id}`);
    expect(read.headers.get("etag")).toBe(response.headers.get("etag"));
    const { secret: _, ...record } = response.body;
    expect(read.body).toEqual(record);
    expect((await requests.send(org, "GET")).body.items).toEqual([record]);
  });

  test("keeps the secret in no readable form, and of the URL only the host in the audit log", async () => {
    const org = await makeOrganization(api, issuer);
    const { body } = await create(org, WEBHOOK, { "idempotency-key": "one" });
    const tables = ["webhook_secrets", "webhooks", "audit_log", "idempotency_keys"];
    const rows = await Promise.all(
      tables.map((table) => api.deps.sql`select row_to_json(t)::text as row from ${api.deps.sql(table)} t`),
    );
    expect(JSON.stringify(rows)).not.toContain(body.secret.slice("whsec_".length));
    const [, audit] = await requests.readAudit(org);
    expect(audit).toMatchObject({
      action: "webhook.create",
      targetKind: "webhook",
      targetId: body.id,
      after: { host: "hooks.example.com", events: ["cluster.ready"], enabled: true, description: "" },
    });
    expect(JSON.stringify(audit)).not.toContain("T0P-SECRET");
  });

  test("with an Idempotency-Key makes one; the repetition is 409 and names it", async () => {
    const org = await makeOrganization(api, issuer);
    const key = { "idempotency-key": "once" };
    const first = await create(org, WEBHOOK, key);
    const again = await create(org, WEBHOOK, key);
    expect([again.status, again.body.error.code]).toEqual([409, "conflict"]);
    expect(again.body.error.message).toContain(first.body.id);
    expect((await requests.send(org, "GET")).body.items).toHaveLength(1);
  });

  test.each<[object, string]>([
    [{ url: "http://hooks.example.com" }, "url/not_https"],
    [{ url: "https://user:password@hooks.example.com" }, "url/embedded_credentials"],
    [{ url: "https://10.1.2.3/hook" }, "url/private_address"],
    [{ url: "https://[::1]/hook" }, "url/private_address"],
    [{ url: "https://localhost/hook" }, "url/private_address"],
    [{ url: "https://2130706433/hook" }, "url/private_address"],
    [{ url: "https://hooks.example.com:22" }, "url/out_of_range"],
    [{ url: "hooks.example.com" }, "url/invalid_format"],
    [{ url: "" }, "url/too_short"],
    [{ url: `https://hooks.example.com/${"x".repeat(2048)}` }, "url/too_long"],
    [{ url: undefined }, "url/required"],
    [{ events: undefined }, "events/required"],
    [{ events: [] }, "events/too_short"],
    [{ events: ["cluster.eaten"] }, "events[0]/unknown_event"],
    [{ events: ["webhook.test"] }, "events[0]/unknown_event"],
    [{ events: ["cluster.ready", "*"] }, "events/unknown_event"],
    [{ events: ["cluster.ready", "cluster.ready"] }, "events[1]/duplicate"],
    [{ description: "x".repeat(1001) }, "description/too_long"],
    [{ enabled: null }, "enabled/invalid_type"],
    [{ secret: "whsec_00" }, "secret/unknown_field"],
  ])("with %j is 422 %s", async (changes, fault) => {
    const response = await create(await makeOrganization(api, issuer), { ...WEBHOOK, ...changes });
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(`${fault}:`)).toBe(true);
  });

  test("subscribes to all types one by one, or by *", async () => {
    const org = await makeOrganization(api, issuer);
    const { body } = await api.request("GET", "/api/v1/webhook-events");
    const types = body.items.map(({ type }: { type: string }) => type);
    expect((await create(org, { ...WEBHOOK, events: types })).body.events).toEqual(types);
    expect((await create(org, { ...WEBHOOK, events: ["*"] })).body.events).toEqual(["*"]);
  });

  test("is bounded in number, however many come at once; a deleted one makes room", async () => {
    const org = await makeOrganization(api, issuer);
    const responses = await Promise.all(Array.from({ length: 23 }, () => create(org)));
    const refused = responses.filter(({ status }) => status === 422);
    expect(refused).toHaveLength(3);
    expect(refused[0]?.body.error).toMatchObject({
      code: "quota_exceeded",
      details: [{ field: "webhooks", message: "the quota is 20, 20 in use, 1 more requested" }],
    });
    const { id } = responses.find(({ status }) => status === 201)?.body ?? {};
    expect((await requests.send(org, "DELETE", `/${id}`)).status).toBe(204);
    expect((await create(org)).status).toBe(201);
  });

  test("is bounded with those that were deleted and are kept: there are ten times as many", async () => {
    const org = await makeOrganization(api, issuer);
    const deleted = { orgId: org.id, ...WEBHOOK, description: "", enabled: true, deletedAt: new Date() };
    const values = Array.from({ length: 199 }, () => ({ ...deleted, id: createId() }));
    await api.deps.db.insert(webhooks).values(values as (typeof webhooks.$inferInsert)[]);
    const responses = [await create(org), await create(org)];
    expect(responses.map(({ status }) => status)).toEqual([201, 422]);
    expect(responses[1]?.body.error.details).toMatchObject([
      { field: "webhooks_per_30_days", message: "the quota is 200, 200 in use, 1 more requested" },
    ]);
  });
});

describe("updating a webhook", () => {
  test("changes what is given, and nothing else", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.make(org, { description: "chat" });
    const response = await requests.send(org, "PUT", `/${id}`, { events: ["*"] });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ ...WEBHOOK, events: ["*"], description: "chat", enabled: true });
    expect(response.body).not.toHaveProperty("secret");
    expect((await requests.send(org, "PUT", `/${id}`, { description: "" })).body).toMatchObject({
      description: "",
    });
    expect((await requests.send(org, "GET", `/${id}`)).body).toMatchObject({
      events: ["*"],
      description: "",
    });
  });

  test("with what was read changes nothing: same tag, no audit row", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.make(org);
    const read = await requests.send(org, "GET", `/${id}`);
    const rows = (await requests.readAudit(org)).length;
    const response = await requests.send(org, "PUT", `/${id}`, read.body);
    expect(response.body).toEqual(read.body);
    expect(response.headers.get("etag")).toBe(read.headers.get("etag"));
    expect(await requests.readAudit(org)).toHaveLength(rows);
  });

  test("with the URL as it is does not check its address again; with another one it does", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.make(org);
    const url = "https://192.168.1.1/old";
    await api.deps.db.update(webhooks).set({ url }).where(eq(webhooks.id, id));
    expect((await requests.send(org, "PUT", `/${id}`, { url, description: "kept" })).status).toBe(200);
    const refused = await requests.send(org, "PUT", `/${id}`, {
      url: "https://192.168.1.2/new",
      description: "lost",
    });
    expect(refused.body.error.message).toMatch(/^url\/private_address:/);
    expect((await requests.send(org, "GET", `/${id}`)).body).toMatchObject({ url, description: "kept" });
  });

  test.each<[object, string]>([
    [{ id: createId() }, "id/immutable"],
    [{ org_id: createId() }, "org_id/immutable"],
    [{ events: ["*", "cluster.ready"] }, "events/unknown_event"],
    [{ url: "http://hooks.example.com" }, "url/not_https"],
    [{ url: null }, "url/invalid_type"],
    [{ secret: "whsec_00" }, "secret/unknown_field"],
  ])("with %j is 422 %s", async (body, fault) => {
    const org = await makeOrganization(api, issuer);
    const response = await requests.send(org, "PUT", `/${await requests.make(org)}`, body);
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(`${fault}:`)).toBe(true);
  });

  test("two at once with one If-Match: one is 200, the other 412; a delivery between changes no If-Match", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.make(org);
    const read = await requests.send(org, "GET", `/${id}`);
    const tag = read.headers.get("etag") ?? "";
    await api.deps.db
      .update(webhookQueues)
      .set({ lastAttemptAt: new Date(), lastStatusCode: 204 })
      .where(eq(webhookQueues.webhookId, id));
    const delivered = await requests.send(org, "GET", `/${id}`, undefined, { "if-none-match": tag });
    expect([delivered.status, delivered.body.last_status]).toEqual([200, 204]);
    const responses = await Promise.all(
      ["A", "B", "C"].map((description) =>
        requests.send(org, "PUT", `/${id}`, { description }, { "if-match": tag }),
      ),
    );
    expect(responses.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412, 412]);
  });

  test("leaves an audit row that tells that the URL changed, not to what", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.make(org);
    await requests.send(org, "PUT", `/${id}`, { url: "https://hooks.example.com/ANOTHER" });
    const audit = (await requests.readAudit(org)).at(-1);
    expect(audit).toMatchObject({
      action: "webhook.update",
      before: { host: "hooks.example.com" },
      after: { host: "hooks.example.com", url_changed: true },
    });
    expect(JSON.stringify(audit)).not.toContain("ANOTHER");
  });

  test("to disabled and back clears why it was disabled and its failures, and has what is pending sent", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.make(org);
    const failing = { consecutiveFailures: 12, exhaustedEvents: 3, pausedUntil: new Date("2100-01-01") };
    await api.deps.db
      .update(webhookQueues)
      .set({ ...failing, failingSince: new Date(), failureAuditedAt: new Date(), dueAt: null })
      .where(eq(webhookQueues.webhookId, id));
    await api.deps.db
      .update(webhooks)
      .set({ enabled: false, disabledReason: "failing", disabledAt: new Date() })
      .where(eq(webhooks.id, id));
    const disabled = (await requests.send(org, "GET", `/${id}`)).body;
    expect(disabled).toMatchObject({ enabled: false, disabled_reason: "failing" });
    const unchanged = await requests.send(org, "PUT", `/${id}`, { enabled: false });
    expect(unchanged.body).toEqual(disabled);
    const enabled = await requests.send(org, "PUT", `/${id}`, { enabled: true });
    expect(enabled.body).toMatchObject({
      enabled: true,
      disabled_reason: null,
      disabled_at: null,
      failing_since: null,
    });
    expect((await requests.send(org, "GET", `/${id}`)).body).toEqual(enabled.body);
    const [queue] = await api.deps.db.select().from(webhookQueues).where(eq(webhookQueues.webhookId, id));
    expect(queue).toMatchObject({
      consecutiveFailures: 0,
      exhaustedEvents: 0,
      failureAuditedAt: null,
      pausedUntil: null,
      dueAt: expect.any(Date),
    });
    const again = await requests.send(org, "PUT", `/${id}`, { enabled: false });
    expect(again.body).toMatchObject({ enabled: false, disabled_reason: null });
    expect(again.body.disabled_at).toEqual(expect.any(String));
  });
});

describe("deleting a webhook", () => {
  test("ends it: 404 then, its queue is not looked at, and there is an audit row", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.make(org);
    await requests.send(org, "POST", `/${id}/test`);
    expect((await requests.send(org, "DELETE", `/${id}`, undefined, { "if-match": '"9"' })).status).toBe(412);
    expect((await requests.send(org, "DELETE", `/${id}`)).status).toBe(204);
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["PUT", "", { enabled: true }],
      ["DELETE", "", undefined],
      ["GET", "/deliveries", undefined],
      ["POST", "/test", undefined],
      ["POST", "/rotate-secret", undefined],
    ] as const)
      expect((await requests.send(org, method, `/${id}${path}`, body)).status).toBe(404);
    expect((await requests.send(org, "GET")).body.items).toEqual([]);
    const [queue] = await api.deps.db.select().from(webhookQueues).where(eq(webhookQueues.webhookId, id));
    expect(queue?.dueAt).toBeNull();
    expect((await requests.readAudit(org)).at(-1)).toMatchObject({ action: "webhook.delete", targetId: id });
  });

  test("with its organization lets what is pending be sent for 24 h", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.make(org);
    const before = Date.now();
    expect((await api.request("DELETE", org.path, { token: org.owner.token })).status).toBe(204);
    const [row] = await api.deps.db.select().from(webhooks).where(eq(webhooks.id, id));
    const hours = ((row?.deletedAt?.getTime() ?? 0) - before) / 3_600_000;
    expect(hours).toBeGreaterThan(23.9);
    expect(hours).toBeLessThan(24.5);
  });
});
