import { beforeAll, describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { makeOrganization, type Person } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { createTicketRequests } from "./testing.ts";

const { api, issuer } = setUpTestService();
let staff: Person;
let requests: ReturnType<typeof createTicketRequests>;
beforeAll(async () => {
  staff = await issuer.createStaff();
  requests = createTicketRequests(api, staff);
});

describe("changing the status of a ticket", () => {
  test("as a member closes it, and opens a resolved one again", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    const resolved = await requests.move(id, "resolved");
    expect(resolved.body.resolved_at).toBe(resolved.body.updated_at);
    const reopened = await requests.send(org, "PUT", `/${id}`, { status: "open" });
    expect(reopened.body).toMatchObject({ status: "open", resolved_at: null });
    expect(reopened.body.respond_by).not.toBeNull();
    const closed = await requests.send(org, "PUT", `/${id}`, { status: "closed" });
    expect(closed.body).toMatchObject({ status: "closed", respond_by: null, overdue: false });
    const events = await requests.readEvents(org);
    expect(events.map((event) => [event.status, event.last_message_author_type])).toEqual([
      ["open", "tenant"],
      ["resolved", ""],
      ["open", ""],
      ["closed", ""],
    ]);
    expect(events.at(-1)?.updated_at).toBe(closed.body.updated_at);
    const audit = await requests.readAudit(id);
    expect(
      audit.map(({ action, actor, before, after }) => [action, actor.kind, before?.status, after?.status]),
    ).toEqual([
      ["ticket.create", "user", undefined, "open"],
      ["ticket.update", "staff", "open", "resolved"],
      ["ticket.update", "user", "resolved", "open"],
      ["ticket.update", "user", "open", "closed"],
    ]);
  });

  test.each([
    ["open", "in_progress"],
    ["open", "waiting"],
    ["open", "resolved"],
    ["waiting", "open"],
    ["in_progress", "open"],
    ["closed", "open"],
    ["closed", "resolved"],
  ])("as a member from %s to %s is 409 and writes nothing", async (from, to) => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    await requests.move(id, from);
    const before = await requests.send(org, "GET", `/${id}`);
    const events = await requests.readEvents(org);
    const response = await requests.send(org, "PUT", `/${id}`, { status: to });
    expect([response.status, response.body.error.code]).toEqual([409, "conflict"]);
    const after = await requests.send(org, "GET", `/${id}`);
    expect([after.body, after.headers.get("etag")]).toEqual([before.body, before.headers.get("etag")]);
    expect(await requests.readEvents(org)).toEqual(events);
  });

  test("to the same one writes nothing, and what was read can be sent back", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    const before = await requests.send(org, "GET", `/${id}`);
    const response = await requests.send(org, "PUT", `/${id}`, before.body);
    expect([response.status, response.body]).toEqual([200, before.body]);
    expect(response.headers.get("etag")).toBe(before.headers.get("etag"));
    expect(await requests.readEvents(org)).toHaveLength(1);
    expect(await requests.readAudit(id)).toHaveLength(1);
  });

  test.each<[object, string]>([
    [{ severity: "critical" }, "severity/immutable"],
    [{ category: "billing" }, "category/immutable"],
    [{ subject: "Other" }, "subject/immutable"],
    [{ cluster_id: createId() }, "cluster_id/immutable"],
    [{ org_id: createId() }, "org_id/immutable"],
    [{ status: "lost" }, "status/invalid_enum"],
  ])("together with %j is 422 %s for a member", async (changes, fault) => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    const response = await requests.send(org, "PUT", `/${id}`, { status: "closed", ...changes });
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(`${fault}:`)).toBe(true);
    expect((await requests.send(org, "GET", `/${id}`)).body.status).toBe("open");
  });

  test("by an old version is 412; of many at once, one succeeds", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    const { headers } = await requests.send(org, "GET", `/${id}`);
    const condition = { "if-match": headers.get("etag") ?? "" };
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        n % 2 === 0
          ? requests.send(org, "PUT", `/${id}`, { status: "closed" }, condition)
          : requests.asStaff("PUT", `/${id}`, { status: "in_progress" }, condition),
      ),
    );
    const statuses = responses.map(({ status }) => status);
    expect(statuses.toSorted((left, right) => left - right)).toEqual([
      200, 412, 412, 412, 412, 412, 412, 412,
    ]);
    expect(await requests.readEvents(org)).toHaveLength(2);
  });
});

test("the tickets of a deleted organization are closed, and stay readable for staff alone", async () => {
  const org = await makeOrganization(api, issuer);
  const [open, done] = [await requests.open(org), await requests.open(org)];
  await requests.send(org, "PUT", `/${done}`, { status: "closed" });
  const eventsBefore = await requests.readEvents(org);
  expect((await api.request("DELETE", org.path, { token: org.owner.token })).status).toBe(204);
  expect((await requests.send(org, "GET", `/${open}`)).status).toBe(404);
  expect((await requests.asStaff("GET", `/${open}`)).body).toMatchObject({
    status: "closed",
    respond_by: null,
  });
  expect((await requests.asStaff("GET", `/${open}/messages`)).body.items).toHaveLength(1);
  const events = (await requests.readEvents(org)).slice(eventsBefore.length);
  expect(events).toMatchObject([{ ticket_id: open, status: "closed", last_message_author_type: "" }]);
  expect((await requests.readAudit(open)).map(({ action }) => action)).toContain("ticket.update");
});
