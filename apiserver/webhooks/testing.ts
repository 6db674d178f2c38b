import { eq } from "drizzle-orm";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { usageAlert } from "../billing/index.ts";
import { emitWebhookEvents, type NewWebhookEvent, newEvent } from "../events/emit.ts";
import { nodeReplaced } from "../resources/project/index.ts";
import type { TestApp, TestResponse } from "../testing/app.ts";
import { makeOrganization, type TestOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { fanOutEvents } from "./deliverer/fan-out-store.ts";
import { webhookDeliveries } from "./table.ts";

/** A body that creates a webhook; its URL carries a secret, as many do. */
export const WEBHOOK = { url: "https://hooks.example.com/T0P-SECRET?token=abc", events: ["cluster.ready"] };

/** Requests of an organization's owner about its webhooks. */
export function createWebhookRequests(api: TestApp) {
  const send = (
    org: TestOrganization,
    method: string,
    path = "",
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> =>
    api.request(method, `${org.path}/webhooks${path}`, {
      token: org.owner.token,
      headers,
      ...(body === undefined ? {} : { body }),
    });
  return {
    send,
    /** Creates a webhook; returns its id. */
    async make(org: TestOrganization, changes: object = {}): Promise<string> {
      const { status, body } = await send(org, "POST", "", { ...WEBHOOK, ...changes });
      if (status !== 201) throw new Error(`no webhook: ${JSON.stringify(body)}`);
      return body.id;
    },
    /** The rows of the audit log, the oldest first. */
    readAudit: (org: TestOrganization) =>
      api.deps.db.select().from(auditLog).where(eq(auditLog.orgId, org.id)).orderBy(auditLog.id),
    /** Ends a delivery without an attempt. */
    settle: (id: string, status: "delivered" | "failed" | "cancelled") =>
      api.deps.db
        .update(webhookDeliveries)
        .set({ status, nextAttemptAt: null, completedAt: new Date() })
        .where(eq(webhookDeliveries.id, id)),
  };
}

/** Starts an API for the tests of a file, as `setUp` does, with what they do to the deliveries of a webhook. */
export function setUpDeliveries() {
  const { api, issuer } = setUpTestService();
  const requests = createWebhookRequests(api);
  return {
    api,
    issuer,
    requests,
    /** Makes an organization with one webhook; `send` is about the webhook, `list` lists its deliveries. */
    start: async (changes: object = { events: ["*"] }) => {
      const org = await makeOrganization(api, issuer);
      const id = await requests.make(org, changes);
      const send = (method: string, path: string, body?: object, headers = {}) =>
        requests.send(org, method, `/${id}${path}`, body, headers);
      const list = async (query = "") => (await send("GET", `/deliveries${query}`)).body.items;
      return { org, id, send, list };
    },
    /** Writes events and their deliveries. */
    emit: async (...events: NewWebhookEvent[]): Promise<void> => {
      await api.deps.db.transaction((tx) => emitWebhookEvents(tx, events));
      await fanOutEvents(api.deps.db);
    },
  };
}

/** The event of a replaced node. */
export function aReplacement({ id: orgId }: Pick<TestOrganization, "id">): NewWebhookEvent {
  const data = {
    cluster_id: createId(),
    node_pool_id: createId(),
    old_node: "old",
    new_node: "new",
    reason: "Unhealthy",
  };
  return newEvent(nodeReplaced, { orgId, occurredAt: new Date(), data });
}

/** The event of a threshold of spend. */
export function anAlert({ id: orgId }: TestOrganization): NewWebhookEvent {
  const data = { budget_eur: 500, spend_eur: 400.12, threshold_pct: 80, billing_month: "2026-11" };
  return newEvent(usageAlert, { orgId, occurredAt: new Date(), data });
}
