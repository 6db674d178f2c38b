import { eq } from "drizzle-orm";
import { auditLog } from "../audit/table.ts";
import type { TestApp, TestResponse } from "../testing/app.ts";
import type { TestOrganization } from "../testing/issuer.ts";

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
  };
}
