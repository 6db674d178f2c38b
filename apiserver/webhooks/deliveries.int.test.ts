import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { webhookEvents } from "../events/table.ts";
import { addPerson } from "../testing/issuer.ts";
import { webhookAttempts } from "./table.ts";
import { anAlert, aReplacement, setUpDeliveries } from "./testing.ts";

const { api, issuer, requests, start, emit } = setUpDeliveries();

describe("the log of deliveries", () => {
  test("is listed newest first, in pages, by status and by type", async () => {
    const { org, list, send } = await start();
    await emit(aReplacement(org));
    await emit(anAlert(org));
    await emit(aReplacement(org));
    const all = await list();
    expect(all.map(({ event_type: type }: { event_type: string }) => type)).toEqual([
      "node.replaced",
      "usage.alert",
      "node.replaced",
    ]);
    expect(all[0]).toMatchObject({
      trigger: "event",
      status: "pending",
      attempt_count: 0,
      max_attempts: 8,
      next_attempt_at: expect.any(String),
      last_status: null,
      last_error_class: null,
      completed_at: null,
    });
    const { body: first } = await send("GET", "/deliveries?limit=2");
    expect(first.items).toEqual(all.slice(0, 2));
    const { body: second } = await send("GET", `/deliveries?limit=2&cursor=${first.next_cursor}`);
    expect(second).toEqual({ items: all.slice(2), next_cursor: null });
    await requests.settle(all[2].id, "failed");
    expect(await list("?status=failed")).toMatchObject([{ id: all[2].id, next_attempt_at: null }]);
    expect(await list("?event_type=usage.alert")).toEqual([all[1]]);
    expect(await list("?event_type=usage.alert&status=failed")).toEqual([]);
    expect((await send("GET", "/deliveries?status=lost")).status).toBe(400);
  });

  test("has what was sent and what came back for each attempt", async () => {
    const { org, send, list } = await start();
    await emit(aReplacement(org));
    const [{ id, event_id: eventId }] = await list();
    const [event] = await api.deps.db.select().from(webhookEvents).where(eq(webhookEvents.id, eventId));
    const at = new Date("2026-11-21T09:00:00Z");
    const sent = {
      orgId: org.id,
      deliveryId: id,
      at,
      requestUrl: "https://hooks.example.com/",
      requestHeaders: { "webhook-id": eventId },
    };
    await api.deps.db.insert(webhookAttempts).values([
      {
        ...sent,
        number: 2,
        durationMs: 40,
        statusCode: 500,
        responseHeaders: { server: "x" },
        errorClass: "status",
        responseBody: Buffer.from([0x61, 0x00, 0xff]),
        errorMessage: "e".repeat(3000),
      },
      {
        ...sent,
        number: 1,
        durationMs: 15_000,
        errorClass: "timeout",
        errorMessage: "no response within 15 s",
      },
    ]);
    const { body } = await send("GET", `/deliveries/${id}`);
    expect(body).toMatchObject({ id, event_id: eventId, body: event?.body });
    expect(body.attempts).toEqual([
      {
        number: 1,
        at: at.toISOString(),
        duration_ms: 15_000,
        request_url: sent.requestUrl,
        request_headers: sent.requestHeaders,
        status: null,
        response_headers: null,
        response_body: null,
        error_class: "timeout",
        error_message: "no response within 15 s",
      },
      expect.objectContaining({
        number: 2,
        status: 500,
        response_headers: { server: "x" },
        response_body: "a\uFFFD\uFFFD",
        error_class: "status",
        error_message: "e".repeat(1024),
      }),
    ]);
    expect((await send("GET", `/deliveries/${createId()}`)).status).toBe(404);
    const other = await requests.make(org);
    expect((await requests.send(org, "GET", `/${other}/deliveries/${id}`)).status).toBe(404);
  });

  test("leaves out sums of money for readers without billing:read", async () => {
    const { org, id, list } = await start();
    await emit(aReplacement(org), anAlert(org));
    const [alert, replacement] = (await list()).toSorted((a: { event_type: string }) =>
      a.event_type === "usage.alert" ? -1 : 1,
    );
    await api.deps.db.insert(webhookAttempts).values({
      orgId: org.id,
      deliveryId: alert.id,
      number: 1,
      at: new Date(),
      durationMs: 1,
      requestUrl: "https://hooks.example.com/",
      requestHeaders: {},
      statusCode: 200,
      responseHeaders: {},
      responseBody: Buffer.from("you sent 400.12"),
    });
    const member = await issuer.createPerson();
    await addPerson(api.deps, org.id, member, "member");
    const read = async (token: string, deliveryId: string) =>
      (await api.request("GET", `${org.path}/webhooks/${id}/deliveries/${deliveryId}`, { token })).body;
    expect((await read(org.owner.token, alert.id)).body).toContain("400.12");
    const hidden = await read(member.token, alert.id);
    expect(hidden).toMatchObject({ body: null, attempts: [{ status: 200, response_body: null }] });
    expect((await read(member.token, replacement.id)).body).toContain("node.replaced");
  });
});
