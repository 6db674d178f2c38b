import { createSecretKey, randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { createId } from "../../../shared/program/id.ts";
import { createRegistry } from "../../../shared/program/metrics.ts";
import { makeOrganization, type TestOrganization } from "../../testing/issuer.ts";
import { setUpTestService } from "../../testing/service.ts";
import { startWebhookDeliverer } from "../start-deliverer.ts";
import { webhookQueues, webhookSecrets } from "../table.ts";
import { createWebhookRequests, WEBHOOK } from "../testing.ts";
import { decryptSecret } from "./cipher.ts";
import { reencryptSecrets } from "./rotate.ts";
import { deleteExpiredSecrets, listValidSecrets } from "./store.ts";

const { api, issuer } = setUpTestService();
const requests = createWebhookRequests(api);
let org: TestOrganization;
beforeEach(async () => {
  org = await makeOrganization(api, issuer);
  api.deps.config.webhooks.keys = [aKey()];
});

const HOUR_MS = 3_600_000;
const aKey = () => ({ id: createId(), key: createSecretKey(randomBytes(32)) });

async function create(): Promise<{ id: string; secret: string }> {
  return (await requests.send(org, "POST", "", WEBHOOK)).body;
}

const rotate = (id: string, headers = {}) =>
  requests.send(org, "POST", `/${id}/rotate-secret`, undefined, headers);

/** The secrets that sign, in clear, the oldest first. */
async function readSecrets(id: string): Promise<string[]> {
  const rows = await listValidSecrets(api.deps.db, org.id, id);
  return rows.map((row) => decryptSecret(api.deps.config.webhooks.keys, id, row));
}

const readRows = (id: string) =>
  api.deps.db
    .select()
    .from(webhookSecrets)
    .where(eq(webhookSecrets.webhookId, id))
    .orderBy(webhookSecrets.id);

describe("rotating a secret", () => {
  test("returns another one, once; the replaced one signs for 24 h more", async () => {
    const { id, secret } = await create();
    const response = await rotate(id);
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.body.secret).toMatch(/^whsec_[0-9a-f]{64}$/);
    expect(await readSecrets(id)).toEqual([secret, response.body.secret]);
    const [replaced, current] = await readRows(id);
    const hours = ((replaced?.expiresAt?.getTime() ?? 0) - Date.now()) / HOUR_MS;
    expect(Math.round(hours)).toBe(24);
    expect(current?.expiresAt).toBeNull();
    expect((await requests.send(org, "GET", `/${id}`)).body).not.toHaveProperty("secret");
    expect((await requests.readAudit(org)).at(-1)).toMatchObject({
      action: "webhook.rotate_secret",
      targetId: id,
    });
  });

  test("keeps the time at which an earlier one ends, and the five that were replaced last", async () => {
    const { id, secret } = await create();
    const rotated = [secret, (await rotate(id)).body.secret];
    const [first] = await readRows(id);
    rotated.push((await rotate(id)).body.secret);
    expect((await readRows(id))[0]?.expiresAt).toEqual(first?.expiresAt);
    for (let round = 0; round < 5; round++) rotated.push((await rotate(id)).body.secret);
    expect(await readSecrets(id)).toEqual(rotated.slice(-6));
  });

  test("with an Idempotency-Key is done once; the repetition is 409", async () => {
    const { id } = await create();
    expect((await rotate(id, { "idempotency-key": "once" })).status).toBe(200);
    expect((await rotate(id, { "idempotency-key": "once" })).status).toBe(409);
    expect(await readSecrets(id)).toHaveLength(2);
  });

  test("heals one whose key is gone: it is removed, and what waited is due", async () => {
    const { id } = await create();
    await api.deps.db
      .update(webhookQueues)
      .set({ pausedUntil: new Date("2100-01-01"), dueAt: new Date("2100-01-01") })
      .where(eq(webhookQueues.webhookId, id));
    api.deps.config.webhooks.keys = [aKey()];
    const { body } = await rotate(id);
    expect(await readSecrets(id)).toEqual([body.secret]);
    const [queue] = await api.deps.db.select().from(webhookQueues).where(eq(webhookQueues.webhookId, id));
    expect(queue?.pausedUntil).toBeNull();
    expect(queue?.dueAt?.getTime()).toBeLessThanOrEqual(Date.now());
  });

  test("does not end the pause of a failing endpoint", async () => {
    const { id } = await create();
    const pausedUntil = new Date("2100-01-01");
    await api.deps.db.update(webhookQueues).set({ pausedUntil }).where(eq(webhookQueues.webhookId, id));
    await rotate(id);
    const [queue] = await api.deps.db.select().from(webhookQueues).where(eq(webhookQueues.webhookId, id));
    expect(queue?.pausedUntil).toEqual(pausedUntil);
  });
});

describe("after a change of the keys", () => {
  test("every secret is encrypted with the first one, and the other ones can go", async () => {
    const created = await Promise.all([create(), create(), create()]);
    await rotate(created[0]?.id ?? "");
    const before = await Promise.all(created.map(({ id }) => readSecrets(id)));
    const [old] = api.deps.config.webhooks.keys;
    const next = aKey();
    api.deps.config.webhooks.keys = old === undefined ? [] : [next, old];
    await reencryptSecrets(api.deps);
    api.deps.config.webhooks.keys = [next];
    expect(await Promise.all(created.map(({ id }) => readSecrets(id)))).toEqual(before);
    const rows = (await Promise.all(created.map(({ id }) => readRows(id)))).flat();
    expect(new Set(rows.map(({ keyId }) => keyId))).toEqual(new Set([next.id]));
  });

  test("a secret that no key decrypts stays as it is, and the others are encrypted", async () => {
    const lost = await create();
    const known = aKey();
    api.deps.config.webhooks.keys = [known];
    const kept = await create();
    const before = await readRows(lost.id);
    const next = aKey();
    api.deps.config.webhooks.keys = [next, known];
    await reencryptSecrets(api.deps);
    expect(await readRows(lost.id)).toEqual(before);
    expect((await readRows(kept.id))[0]?.keyId).toBe(next.id);
  });
});

test("a secret that no key decrypts is counted, and what it would sign is postponed", async () => {
  const { id } = await create();
  api.deps.config.webhooks.keys = [aKey()];
  const metrics = createRegistry();
  const stopping = new AbortController();
  const { stopped } = startWebhookDeliverer({ ...api.deps, metrics }, stopping.signal);
  try {
    await requests.send(org, "POST", `/${id}/test`);
    await waitFor("the postponed delivery", async () =>
      (await metrics.metrics()).includes('marina_apiserver_webhook_deliveries_total{result="postponed"} 1'),
    );
    const name = "marina_apiserver_webhook_undecryptable_secrets_total";
    expect(await metrics.getSingleMetricAsString(name)).toContain(`${name} 1`);
  } finally {
    stopping.abort();
    await stopped;
  }
});

test("a secret that signs no longer is removed, and the others are not", async () => {
  const { id } = await create();
  const { body } = await rotate(id);
  const [replaced] = await readRows(id);
  await api.deps.db
    .update(webhookSecrets)
    .set({ expiresAt: new Date(Date.now() - 1000) })
    .where(eq(webhookSecrets.id, replaced?.id ?? ""));
  expect(await readSecrets(id)).toEqual([body.secret]);
  await deleteExpiredSecrets(api.deps.db);
  expect(await readRows(id)).toHaveLength(1);
});

test("the secret of a deleted webhook ends within minutes", async () => {
  const { id } = await create();
  await requests.send(org, "DELETE", `/${id}`);
  const [row] = await readRows(id);
  expect((row?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - Date.now()).toBeLessThan(HOUR_MS);
});
