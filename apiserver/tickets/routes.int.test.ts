import { beforeAll, describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { objectRecords } from "../resources/project/table.ts";
import { makeOrganization, type Person, type TestOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { createTicketRequests, TICKET } from "./testing.ts";

const { api, issuer } = setUpTestService();
let staff: Person;
let requests: ReturnType<typeof createTicketRequests>;
beforeAll(async () => {
  staff = await issuer.createStaff();
  requests = createTicketRequests(api, staff);
});

/** The record of a cluster that ended so many days ago; null for one that exists. */
async function recordCluster({ id: orgId }: TestOrganization, deletedDaysAgo: number | null) {
  const id = createId();
  await api.deps.db.insert(objectRecords).values({
    id,
    orgId,
    namespace: `org-${orgId}`,
    objectName: `c-${id}`,
    name: "recorded",
    nameKey: "recorded",
    createdAt: new Date(0),
    deletedAt: deletedDaysAgo === null ? null : new Date(Date.now() - deletedDaysAgo * 86_400_000),
  });
  return id;
}

describe("opening a ticket", () => {
  test("returns 201 with the record, whose first message is the body", async () => {
    const org = await makeOrganization(api, issuer);
    const response = await requests.send(org, "POST", "", TICKET);
    const { body: _, ...fields } = TICKET;
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({
      ...fields,
      org_id: org.id,
      cluster_id: null,
      status: "open",
      created_by: org.owner.userId,
      assigned_to: null,
      first_response_at: null,
      resolved_at: null,
      overdue: false,
    });
    const { id, created_at, respond_by } = response.body;
    expect(Date.parse(respond_by) - Date.parse(created_at)).toBe(4 * 3_600_000);
    expect(response.headers.get("location")).toBe(`${org.path}/tickets/${id}`);
    const read = await requests.send(org, "GET", `/${id}`);
    expect(read.body).toEqual(response.body);
    expect(read.headers.get("etag")).toBe(response.headers.get("etag"));
    expect((await requests.send(org, "GET", `/${id}/messages`)).body).toEqual({
      items: [
        {
          id: expect.any(String),
          ticket_id: id,
          author_id: org.owner.userId,
          author_type: "tenant",
          body: TICKET.body,
          created_at,
        },
      ],
      next_cursor: null,
    });
  });

  test("with an Idempotency-Key makes one ticket, one message and one event", async () => {
    const org = await makeOrganization(api, issuer);
    const key = { "idempotency-key": "once" };
    const first = await requests.send(org, "POST", "", TICKET, key);
    const again = await requests.send(org, "POST", "", TICKET, key);
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect((await requests.send(org, "GET")).body.items).toEqual([first.body]);
    expect(await requests.readEvents(org)).toHaveLength(1);
  });

  test("is in the audit log and one event, as a message of the tenant", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    expect(await requests.readAudit(id)).toMatchObject([
      {
        action: "ticket.create",
        orgId: org.id,
        after: { subject: TICKET.subject, severity: "high", category: "cluster", status: "open" },
      },
    ]);
    const { updated_at } = (await requests.send(org, "GET", `/${id}`)).body;
    expect(await requests.readEvents(org)).toEqual([
      {
        ticket_id: id,
        status: "open",
        severity: "high",
        category: "cluster",
        last_message_author_type: "tenant",
        updated_at,
      },
    ]);
  });

  test("may be about a cluster of the organization, also one deleted within 90 days", async () => {
    const org = await makeOrganization(api, issuer);
    for (const deletedDaysAgo of [null, 89]) {
      const cluster_id = await recordCluster(org, deletedDaysAgo);
      const id = await requests.open(org, { cluster_id });
      expect((await requests.send(org, "GET", `/${id}`)).body.cluster_id).toBe(cluster_id);
      const list = await requests.send(org, "GET", `?cluster_id=${cluster_id}`);
      expect(list.body.items).toMatchObject([{ id }]);
    }
  });

  test("about a cluster that ended long ago, of another organization, or unknown is 422", async () => {
    const [org, other] = [await makeOrganization(api, issuer), await makeOrganization(api, issuer)];
    const clusters = [await recordCluster(org, 91), await recordCluster(other, null), createId()];
    for (const cluster_id of clusters) {
      const { status, body } = await requests.send(org, "POST", "", { ...TICKET, cluster_id });
      expect(status).toBe(422);
      expect(body.error.details).toMatchObject([{ field: "cluster_id", code: "not_found" }]);
    }
    expect((await requests.send(org, "GET")).body.items).toEqual([]);
  });

  test.each<[object, string]>([
    [{ subject: undefined }, "subject/required"],
    [{ subject: "" }, "subject/too_short"],
    [{ subject: "x".repeat(201) }, "subject/too_long"],
    [{ subject: "two\nlines" }, "subject/invalid_format"],
    [{ category: "cooking" }, "category/invalid_enum"],
    [{ severity: null }, "severity/invalid_enum"],
    [{ body: "" }, "body/too_short"],
    [{ body: "x".repeat(32_769) }, "body/too_long"],
    [{ cluster_id: "mine" }, "cluster_id/invalid_format"],
    [{ status: "open" }, "status/unknown_field"],
    [{ attachment_ids: [] }, "attachment_ids/unknown_field"],
  ])("with %j is 422 %s", async (changes, fault) => {
    const org = await makeOrganization(api, issuer);
    const response = await requests.send(org, "POST", "", { ...TICKET, ...changes });
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(`${fault}:`)).toBe(true);
  });

  test("takes text of the largest size, in any script", async () => {
    const org = await makeOrganization(api, issuer);
    const body = "漢".repeat(32_768);
    const id = await requests.open(org, { subject: "𝔘".repeat(200), body });
    expect((await requests.send(org, "GET", `/${id}/messages`)).body.items[0].body).toBe(body);
  });

  test("in an organization that is being deleted is 409, in a deleted one 404", async () => {
    const org = await makeOrganization(api, issuer);
    await api.deps.sql`update organizations set deleting_at = now() where id = ${org.id}`;
    const response = await requests.send(org, "POST", "", TICKET);
    expect([response.status, response.body.error.code]).toEqual([409, "conflict"]);
  });
});

describe("listing tickets", () => {
  test("finds those of the organization alone, the newest first, by status, severity and category", async () => {
    const [org, other] = [await makeOrganization(api, issuer), await makeOrganization(api, issuer)];
    await requests.open(other);
    const old = await requests.open(org, { severity: "low", category: "billing" });
    const waiting = await requests.open(org, { category: "storage" });
    await requests.move(waiting, "waiting");
    const latest = await requests.open(org);
    const list = async (query: string) =>
      (await requests.send(org, "GET", query)).body.items.map(({ id }: { id: string }) => id);
    expect(await list("")).toEqual([latest, waiting, old]);
    expect(await list("?status=waiting")).toEqual([waiting]);
    expect(await list("?severity=low")).toEqual([old]);
    expect(await list("?category=storage")).toEqual([waiting]);
    expect(await list("?status=open&severity=high")).toEqual([latest]);
    expect(await list(`?cluster_id=${createId()}`)).toEqual([]);
    for (const query of ["?status=lost", "?severity=none", "?category=food", "?q=nodes", "?overdue=true"])
      expect((await requests.send(org, "GET", query)).status).toBe(400);
  });

  test("repeats and skips none while tickets arrive", async () => {
    const org = await makeOrganization(api, issuer);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift(await requests.open(org));
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query: string = cursor === "" ? "?limit=2" : `?limit=2&cursor=${cursor}`;
      const { items, next_cursor } = (await requests.send(org, "GET", query)).body;
      seen.push(...items.map(({ id }: { id: string }) => id));
      cursor = next_cursor;
      await requests.open(org);
    }
    expect(seen).toEqual(ids);
  });
});
