import { asc, eq } from "drizzle-orm";
import type { z } from "zod";
import { auditLog } from "../audit/table.ts";
import { webhookEvents } from "../events/table.ts";
import type { TestApp, TestResponse } from "../testing/app.ts";
import type { Person, TestOrganization } from "../testing/issuer.ts";
import type { ticketUpdated } from "./event-schema.ts";

/** A body that opens a ticket. */
export const TICKET = {
  subject: "Two nodes do not become ready",
  category: "cluster",
  severity: "high",
  body: "Since this morning.",
};

const ADMIN = "/api/v1/admin/tickets";

/** Requests about tickets, of an organization's owner and of the platform's staff. */
export function createTicketRequests(api: TestApp, staff: Person) {
  const send = (
    { path, owner }: TestOrganization,
    method: string,
    ticket = "",
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> =>
    api.request(method, `${path}/tickets${ticket}`, {
      token: owner.token,
      headers,
      ...(body === undefined ? {} : { body }),
    });
  const asStaff = (
    method: string,
    ticket = "",
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> =>
    api.request(method, `${ADMIN}${ticket}`, {
      token: staff.token,
      headers,
      ...(body === undefined ? {} : { body }),
    });
  return {
    send,
    asStaff,
    /** Opens a ticket; returns its id. */
    async open(org: TestOrganization, changes: object = {}): Promise<string> {
      const { status, body } = await send(org, "POST", "", { ...TICKET, ...changes });
      if (status !== 201) throw new Error(`no ticket: ${JSON.stringify(body)}`);
      return body.id;
    },
    /** Gives a ticket a status, as the staff. */
    async move(id: string, status: string): Promise<TestResponse> {
      const response = await asStaff("PUT", `/${id}`, { status });
      if (response.status !== 200) throw new Error(`not moved: ${JSON.stringify(response.body)}`);
      return response;
    },
    /** The data of the events of an organization's tickets, the oldest first. */
    async readEvents(org: TestOrganization): Promise<z.output<typeof ticketUpdated.data>[]> {
      const rows = await api.deps.db
        .select()
        .from(webhookEvents)
        .where(eq(webhookEvents.orgId, org.id))
        .orderBy(asc(webhookEvents.id));
      return rows.map(({ body }) => JSON.parse(body).data);
    },
    /** The rows of the audit log about a ticket, the oldest first. */
    readAudit: (id: string) =>
      api.deps.db.select().from(auditLog).where(eq(auditLog.targetId, id)).orderBy(asc(auditLog.id)),
  };
}
