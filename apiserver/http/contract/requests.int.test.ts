import { expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestApp } from "../../testing/app.ts";

const api = setUp(startTestApp);

test("ids in upper case name the same records, in paths, queries and bodies", async () => {
  const orgId = await api.createOrganization();
  const [path, upper] = [`/api/v1/organizations/${orgId}`, `/api/v1/organizations/${orgId.toUpperCase()}`];
  const { body: record } = await api.request("GET", path);
  expect(await api.request("GET", upper)).toMatchObject({ status: 200, body: record });
  const change = { id: orgId.toUpperCase(), name: record.name };
  expect(await api.request("PUT", upper, { body: change })).toMatchObject({ status: 200 });
  const headers = { "idempotency-key": "letter-case" };
  const invitation = { email: "letter.case@example.com", role: "viewer" };
  const first = await api.request("POST", `${path}/members`, { body: invitation, headers });
  const again = await api.request("POST", `${upper}/members`, {
    headers: { ...headers, "content-type": "application/json" },
    rawBody: ' {"role" : "viewer", "email":"letter.case@example.com"}',
  });
  expect(first.status).toBe(201);
  expect(again).toMatchObject({ status: 201, body: first.body });
  expect(again.headers.get("idempotency-replayed")).toBe("true");
});

test("an unknown path is 404 with the error body", async () => {
  expect(await api.request("GET", "/api/v1/nowhere")).toMatchObject({
    status: 404,
    body: { error: { code: "not_found", message: expect.any(String), request_id: expect.any(String) } },
  });
});

test.each(["mine-1", "not fit <b>"])(
  "a request has an id of its own, whatever the client calls it: %s",
  async (sent) => {
    const ask = () => api.request("GET", "/api/v1/me", { headers: { "x-request-id": sent } });
    const ids = [await ask(), await ask()].map(({ headers }) => headers.get("x-request-id"));
    expect(ids).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    expect(ids[0]).not.toBe(ids[1]);
  },
);
