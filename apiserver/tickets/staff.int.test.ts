import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { users } from "../members/table.ts";
import { makeOrganization, type Person } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { TICKET_STATUSES, tickets } from "./table.ts";
import { createTicketRequests } from "./testing.ts";

const { api, issuer } = setUpTestService();
let staff: Person;
let requests: ReturnType<typeof createTicketRequests>;
beforeAll(async () => {
  staff = await issuer.createStaff();
  requests = createTicketRequests(api, staff);
});

const list = async (query: string): Promise<string[]> => {
  const { status, body } = await requests.asStaff("GET", query);
  if (status !== 200) throw new Error(`no list: ${JSON.stringify(body)}`);
  return body.items.map(({ id }: { id: string }) => id);
};

const setRespondBy = (id: string, respondBy: Date) =>
  api.deps.db.update(tickets).set({ respondBy }).where(eq(tickets.id, id));

describe("the tickets of all organizations", () => {
  test("are listed newest first, by organization, status, severity, category and assignee", async () => {
    const [org, other] = [await makeOrganization(api, issuer), await makeOrganization(api, issuer)];
    const old = await requests.open(org, { severity: "low", category: "billing" });
    const foreign = await requests.open(other);
    const mine = await requests.open(org, { severity: "critical" });
    await requests.asStaff("PUT", `/${mine}`, { assigned_to: staff.userId, status: "in_progress" });
    expect((await list("")).slice(0, 3)).toEqual([mine, foreign, old]);
    const own = `?org_id=${org.id}`;
    expect(await list(own)).toEqual([mine, old]);
    expect(await list(`${own}&status=open`)).toEqual([old]);
    expect(await list(`${own}&severity=critical`)).toEqual([mine]);
    expect(await list(`${own}&category=billing`)).toEqual([old]);
    expect(await list(`${own}&assigned=unassigned`)).toEqual([old]);
    expect(await list(`${own}&assigned=${staff.userId.toUpperCase()}`)).toEqual([mine]);
    expect(await list(`?assigned=${createId()}`)).toEqual([]);
    expect(await list(`?org_id=${createId()}`)).toEqual([]);
  });

  test.each([
    "?org_id=mine",
    "?assigned=me",
    "?assigned=",
    "?overdue=yes",
    "?q=",
    `?q=${"x".repeat(201)}`,
    "?q=%00",
  ])("are not listed by %s: 400", async (query) => {
    const { status, body } = await requests.asStaff("GET", query);
    expect([status, body.error.code]).toEqual([400, "bad_request"]);
  });

  test("are read page by page without repetition or gap while tickets arrive, also by words", async () => {
    const org = await makeOrganization(api, issuer);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift(await requests.open(org, { subject: "Paged" }));
    for (const filter of [`?org_id=${org.id}`, `?org_id=${org.id}&q=paged`]) {
      const seen: string[] = [];
      let cursor: string | null = ids[0] === undefined ? null : "";
      while (cursor !== null) {
        const at: string = cursor === "" ? "" : `&cursor=${cursor}`;
        const { body } = await requests.asStaff("GET", `${filter}&limit=2${at}`);
        seen.push(...body.items.map(({ id }: { id: string }) => id));
        cursor = body.next_cursor;
        ids.unshift(await requests.open(org, { subject: "Paged" }));
      }
      expect(seen).toEqual(ids.slice(-seen.length));
      expect(new Set(seen).size).toBe(seen.length);
    }
  });

  test("are found by the words of subject, messages and internal notes, in any case", async () => {
    const org = await makeOrganization(api, issuer);
    const quotas = await requests.open(org, { subject: "Quota of vCPUs", body: "We need 400 more." });
    const nodes = await requests.open(org, { subject: "Nodes", body: "The image vm-4711 does not boot." });
    await requests.send(org, "POST", `/${nodes}/messages`, { body: "The quota is fine." });
    await requests.asStaff("POST", `/${quotas}/messages`, { body: "Known as INC-0815", internal: true });
    const find = (words: string) => list(`?org_id=${org.id}&q=${encodeURIComponent(words)}`);
    expect(await find("QUOTA")).toEqual([nodes, quotas]);
    expect(await find("vcpus")).toEqual([quotas]);
    expect(await find("quota 400")).toEqual([quotas]);
    expect(await find('"does not boot"')).toEqual([nodes]);
    expect(await find('"boot not"')).toEqual([]);
    expect(await find("vm-4711 or 400")).toEqual([nodes, quotas]);
    expect(await find("quota -vcpus")).toEqual([nodes]);
    expect(await find("the")).toEqual([nodes]);
    expect(await find("inc-0815")).toEqual([quotas]);
    for (const nothing of ["quotas", "%", "'; drop table tickets; --", "& | ! ( )", '"'])
      expect(await find(nothing)).toEqual([]);
  });

  test("are overdue once the time of the response has passed, and no longer after an answer", async () => {
    const org = await makeOrganization(api, issuer);
    const [late, soon] = [await requests.open(org), await requests.open(org)];
    const before = await requests.send(org, "GET", `/${late}`);
    await setRespondBy(late, new Date(Date.now() - 1));
    const own = `?org_id=${org.id}`;
    expect(await list(`${own}&overdue=true`)).toEqual([late]);
    expect(await list(`${own}&overdue=false`)).toEqual([soon]);
    const read = await requests.send(org, "GET", `/${late}`, undefined, {
      "if-none-match": before.headers.get("etag") ?? "",
    });
    expect([read.status, read.body.overdue]).toEqual([200, true]);
    await requests.asStaff("POST", `/${late}/messages`, { body: "Sorry." });
    expect(await list(`${own}&overdue=true`)).toEqual([]);
    expect((await requests.asStaff("GET", `/${late}`)).body).toMatchObject({
      respond_by: null,
      overdue: false,
    });
  });
});

describe("staff changes a ticket", () => {
  test("in severity, category and assignee without an event; the tenant sees it, and the audit log", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    const before = await requests.send(org, "GET", `/${id}`);
    const change = { severity: "critical", category: "storage", assigned_to: staff.userId };
    const response = await requests.asStaff("PUT", `/${id}`, change);
    expect([response.status, response.body]).toMatchObject([200, { ...change, status: "open" }]);
    const { created_at, respond_by } = response.body;
    expect(Date.parse(respond_by) - Date.parse(created_at)).toBe(3_600_000);
    const after = await requests.send(org, "GET", `/${id}`);
    expect(after.body).toEqual(response.body);
    expect(after.headers.get("etag")).not.toBe(before.headers.get("etag"));
    expect(await requests.readEvents(org)).toHaveLength(1);
    expect((await requests.readAudit(id)).at(-1)).toMatchObject({
      action: "ticket.update",
      actor: { kind: "staff" },
      orgId: org.id,
      before: { severity: "high", category: "cluster", assigned_to: null },
      after: change,
    });
    const unassigned = await requests.asStaff("PUT", `/${id}`, { assigned_to: null });
    expect(unassigned.body.assigned_to).toBeNull();
  });

  test("with its status in one event", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    await requests.asStaff("PUT", `/${id}`, { status: "closed", severity: "low" });
    await requests.move(id, "open");
    expect((await requests.readEvents(org)).slice(1)).toMatchObject([
      { status: "closed", severity: "low", last_message_author_type: "" },
      { status: "open", severity: "low", last_message_author_type: "" },
    ]);
  });

  test("gives it any status from any; resolved_at is set by resolved, and kept by closed", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    for (const from of TICKET_STATUSES)
      for (const to of TICKET_STATUSES) {
        await requests.asStaff("PUT", `/${id}`, { status: from });
        const { status, body } = await requests.asStaff("PUT", `/${id}`, { status: to });
        expect([status, body.status]).toEqual([200, to]);
        const response = await requests.asStaff("PUT", `/${id}`, { status: "open" });
        expect(response.status).toBe(200);
      }
    await requests.asStaff("PUT", `/${id}`, { status: "closed" });
    const resolved = (await requests.asStaff("PUT", `/${id}`, { status: "resolved" })).body;
    expect(resolved.resolved_at).toBe(resolved.updated_at);
    const closed = (await requests.asStaff("PUT", `/${id}`, { status: "closed" })).body;
    expect(closed.resolved_at).toBe(resolved.resolved_at);
  });

  test("the time in which a ticket waits for its tenant or is done does not count", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    for (const status of ["waiting", "resolved", "closed"]) {
      expect((await requests.move(id, status)).body.respond_by).toBeNull();
      const { respond_by, updated_at } = (await requests.move(id, "open")).body;
      expect(Date.parse(respond_by) - Date.parse(updated_at)).toBe(4 * 3_600_000);
    }
  });

  test("assigns it to staff alone: users who have called an operation of staff within 90 days", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    const roles = { claims: { realm_access: { roles: ["platform-admin"] } } };
    const [colleague, former] = [await issuer.createPerson(roles), await issuer.createPerson(roles)];
    const assign = (userId: string) => requests.asStaff("PUT", `/${id}`, { assigned_to: userId });
    const expectRefused = async (userId: string) => {
      const { status, body } = await assign(userId);
      expect([status, body.error?.details]).toMatchObject([
        422,
        [{ field: "assigned_to", code: "not_found" }],
      ]);
    };
    for (const userId of [createId(), org.owner.userId, colleague.userId]) await expectRefused(userId);
    for (const { token } of [colleague, former]) await api.request("GET", "/api/v1/admin/tickets", { token });
    expect((await assign(colleague.userId)).body.assigned_to).toBe(colleague.userId);
    await api.deps.db
      .update(users)
      .set({ staffSeenAt: new Date(Date.now() - 91 * 86_400_000) })
      .where(eq(users.id, former.userId));
    await expectRefused(former.userId);
  });

  test("sends back what it read, also when the assignee left long ago", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    const former = await issuer.createStaff();
    await api.request("GET", "/api/v1/admin/tickets", { token: former.token });
    await requests.asStaff("PUT", `/${id}`, { assigned_to: former.userId });
    await api.deps.db.update(users).set({ staffSeenAt: null }).where(eq(users.id, former.userId));
    const { body } = await requests.asStaff("GET", `/${id}`);
    expect((await requests.asStaff("PUT", `/${id}`, body)).body).toEqual(body);
    const moved = await requests.asStaff("PUT", `/${id}`, { ...body, status: "in_progress" });
    expect(moved.body).toMatchObject({ status: "in_progress", assigned_to: former.userId });
  });

  test.each<[object, string]>([
    [{ subject: "Other" }, "subject/immutable"],
    [{ org_id: createId() }, "org_id/immutable"],
    [{ assigned_to: "me" }, "assigned_to/invalid_format"],
    [{ severity: null }, "severity/invalid_enum"],
  ])("with %j is 422 %s", async (change, fault) => {
    const org = await makeOrganization(api, issuer);
    const response = await requests.asStaff("PUT", `/${await requests.open(org)}`, change);
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(`${fault}:`)).toBe(true);
  });
});

test("a user whose id is given to another issuer is known as staff no longer", async () => {
  const person = await issuer.createStaff();
  await api.request("GET", "/api/v1/admin/tickets", { token: person.token });
  const [other] = api.deps.config.issuers.filter(({ issuer: url }) => url !== issuer.config.issuer);
  const moved = await api.request("PUT", `/api/v1/admin/users/${person.userId}/identity`, {
    token: staff.token,
    body: { issuer: other?.issuer },
  });
  expect(moved.status).toBe(200);
  const org = await makeOrganization(api, issuer);
  const change = { assigned_to: person.userId };
  expect((await requests.asStaff("PUT", `/${await requests.open(org)}`, change)).status).toBe(422);
});
