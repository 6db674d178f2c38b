import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { mintFor } from "../api-tokens/testing.ts";
import { appendFeedEvents } from "../events/feed.ts";
import { aStatus, eventsOf, startFeedTest } from "./testing.ts";

const feed = setUp(startFeedTest);
/** Two replicas of one service, and what is in it. */
let { one, other, owner, orgId, clusterId, path } = feed;
beforeAll(() => {
  ({ one, other, owner, orgId, clusterId, path } = feed);
});
afterEach(() => feed.restore());

async function makeTicket(token = owner.token): Promise<string> {
  const response = await one.request("POST", `${path}/ticket`, { token });
  expect(response.status).toBe(201);
  return response.body.ticket;
}

describe("a ticket for the stream", () => {
  test("opens the stream once, on any replica, within 30 s, and is in no log", async () => {
    const response = await one.request("POST", `${path}/ticket`, { token: owner.token });
    expect(response.status).toBe(201);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("location")).toBe(path);
    const { ticket, expires_at: expiresAt } = response.body;
    expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(31_000);
    const stream = await feed.open(other, { ticket });
    expect(stream.status).toBe(200);
    await other.deps.db.transaction((tx) => appendFeedEvents(tx, [aStatus({ orgId, clusterId }, "seen")]));
    await expect.poll(() => stream.messages.at(-1)?.data.status).toBe("seen");
    for (const api of [one, other]) {
      const again = await api.request("GET", `${path}?ticket=${ticket}`, { as: null });
      expect(again).toMatchObject({ status: 401, body: { error: { code: "unauthorized" } } });
    }
    const written = feed.lines.join("");
    expect(written).toContain(`${path}/ticket`);
    expect(written).not.toContain(ticket);
  });

  test.each(["", "worthless", "A".repeat(43)])(
    "that was never issued (%j) is 401, whatever its path",
    async (ticket) => {
      for (const target of [path, path.replace(clusterId, "%00")]) {
        const response = await one.request("GET", `${target}?ticket=${ticket}`, { as: null });
        expect(response.status).toBe(401);
        expect(response.headers.get("www-authenticate")).toContain("Bearer");
      }
    },
  );

  test("opens no other cluster's stream and no other operation", async () => {
    const foreign = feed.pathOf(await feed.createCluster("other"));
    const ticket = await makeTicket();
    for (const target of [
      foreign,
      `/api/v1/organizations/${orgId}/clusters/${clusterId}`,
      `${path}/ticket`,
    ]) {
      const method = target.endsWith("ticket") ? "POST" : "GET";
      expect((await one.request(method, `${target}?ticket=${ticket}`, { as: null })).status).toBe(401);
    }
    expect((await feed.open(one, { ticket })).status).toBe(200);
  });

  test("is of no use after 30 s", async () => {
    const ticket = await makeTicket();
    await one.deps.sql`update stream_tickets set expires_at = expires_at - interval '30 seconds'`;
    expect((await feed.open(one, { ticket })).status).toBe(401);
  });

  test("gives what its maker may do when it is used, and not longer", async () => {
    const { person, memberId } = await feed.makeMember();
    const [first, second] = [await makeTicket(person.token), await makeTicket(person.token)];
    const stream = await feed.open(other, { ticket: first });
    await feed.removeMember(memberId);
    expect((await feed.open(other, { ticket: second })).status).toBe(404);
    feed.wait(other, 30_000);
    await stream.ended;
    expect(eventsOf(stream)).toEqual(["bye"]);
  });

  test("of an API token ends with the token", async () => {
    const { id, text } = await mintFor(one.deps, owner, orgId, { role: "viewer", scopes: ["events:read"] });
    const [first, second] = [await makeTicket(text), await makeTicket(text)];
    expect((await feed.open(one, { ticket: first })).status).toBe(200);
    const removal = await one.request("DELETE", `/api/v1/organizations/${orgId}/api-tokens/${id}`, {
      token: owner.token,
    });
    expect(removal.status).toBe(204);
    expect((await feed.open(one, { ticket: second })).status).toBe(404);
  });

  test("is issued only to those who may read the stream", async () => {
    const { person } = await feed.makeMember("billing");
    expect((await one.request("POST", `${path}/ticket`, { token: person.token })).status).toBe(403);
    const { token } = await feed.issuer.createPerson();
    expect((await one.request("POST", `${path}/ticket`, { token })).status).toBe(404);
  });
});
