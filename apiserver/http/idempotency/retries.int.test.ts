import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { countLockWaits } from "../../db/testing.ts";
import type { TestResponse } from "../../testing/app.ts";
import type { Person } from "../../testing/issuer.ts";
import { setUpTestService } from "../../testing/service.ts";
import { createIdempotencyStores } from "./store.ts";

const { api, issuer } = setUpTestService();
let owner: Person;
beforeAll(async () => {
  owner = await issuer.createPerson();
});

const ORGANIZATIONS = "/api/v1/organizations";
const post = (path: string, body: object, key: string) =>
  api.request("POST", path, { token: owner.token, body, headers: { "idempotency-key": key } });

/** Repeats while the response asks for a retry, as a client does. */
async function postWithRetries(path: string, body: object, key: string): Promise<TestResponse> {
  for (;;) {
    const response = await post(path, body, key);
    if (response.body.error?.code !== "operation_in_progress") return response;
    await sleep(20);
  }
}

describe("twenty clients with one Idempotency-Key", () => {
  test("get one organization and one response", async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => postWithRetries(ORGANIZATIONS, { name: "Twenty" }, "twenty")),
    );
    for (const response of responses) {
      expect(response.status).toBe(201);
      expect(response.body).toEqual(responses[0]?.body);
      expect(response.headers.get("etag")).toBe(responses[0]?.headers.get("etag"));
    }
    const [count] = await api.deps.sql`select count(*)::int as n from organizations where name = 'Twenty'`;
    expect(count?.n).toBe(1);
  });

  test("get one invitation and one response", async () => {
    const org = (await post(ORGANIZATIONS, { name: "Invite" }, "invite-org")).body.id;
    const body = { email: "once@example.com", role: "viewer" };
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => postWithRetries(`${ORGANIZATIONS}/${org}/members`, body, "invite")),
    );
    expect(new Set(responses.map((response) => `${response.status} ${response.body.id}`)).size).toBe(1);
  });
});

describe("the outcome of a keyed request", () => {
  test("is kept in the transaction of the effect: record, owner, audit row and response", async () => {
    const { body } = await post(ORGANIZATIONS, { name: "Atomic" }, "atomic");
    const rows = await api.deps.sql`
      select xmin::text as transaction from organizations where id = ${body.id}
      union all select xmin::text from members where org_id = ${body.id}
      union all select xmin::text from audit_log where org_id = ${body.id}
      union all select xmin::text from idempotency_keys where key = 'atomic'`;
    // The organization's row was touched once more when its Namespace was there.
    const [, ...others] = rows.map((row) => row.transaction);
    expect(others).toHaveLength(3);
    expect(new Set(others).size).toBe(1);
  });

  test("survives a process that died before it could respond", async () => {
    const first = await post(ORGANIZATIONS, { name: "Died" }, "died");
    const scope = `user:${owner.userId} POST ${ORGANIZATIONS}`;
    // What the dying process would have done at most: give its lease back.
    await createIdempotencyStores()(api.deps.db).release({
      scope,
      key: "died",
      bodyHash: "",
      id: first.body.id,
      objectName: null,
    });
    const again = await post(ORGANIZATIONS, { name: "Died" }, "died");
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });

  test("leaves nothing behind when the effect fails, and the key may be used again", async () => {
    const org = (await post(ORGANIZATIONS, { name: "Fails" }, "fails-org")).body.id;
    const path = `${ORGANIZATIONS}/${org}/members`;
    const body = { email: "late@example.com", role: "viewer" };
    await api.deps.sql.unsafe(
      "alter table audit_log add constraint no_invite check (action <> 'member.invite') not valid",
    );
    const failed = await post(path, body, "fails");
    await api.deps.sql.unsafe("alter table audit_log drop constraint no_invite");
    expect(failed.status).toBe(500);
    const again = await post(path, body, "fails");
    expect(again.status).toBe(201);
    expect(again.headers.get("idempotency-replayed")).toBeNull();
  });

  test("belongs to the whole address, the query included", async () => {
    const one = await post(`${ORGANIZATIONS}?a=1`, { name: "Query" }, "query");
    expect(one.status).toBe(400);
    const other = await post(ORGANIZATIONS, { name: "Query" }, "query");
    expect(other.status).toBe(201);
  });

  test("is only given to a caller who is still allowed it: authorization comes first", async () => {
    const org = (await post(ORGANIZATIONS, { name: "Gone" }, "gone-org")).body.id;
    const path = `${ORGANIZATIONS}/${org}/members`;
    const body = { email: "gone@example.com", role: "viewer" };
    await post(path, body, "gone");
    await api.deps
      .sql`update members set role = 'viewer' where org_id = ${org} and user_id = ${owner.userId}`;
    expect((await post(path, body, "gone")).status).toBe(403);
  });
});

test("an attempt that has outlived its lease has no effect once a repetition has stored its response", async () => {
  const { sql } = api.deps;
  const org = (await post(ORGANIZATIONS, { name: "Outlived" }, "outlived-org")).body.id;
  const tokens = `${ORGANIZATIONS}/${org}/api-tokens`;
  const token = { name: "outlived", role: "viewer", scopes: ["clusters:read"] };
  const { body: minted } = await post(tokens, token, "outlived-token");
  const rotate = () =>
    api.request("POST", `${tokens}/${minted.id}/rotate`, {
      token: owner.token,
      headers: { "idempotency-key": "outlived" },
    });
  const { sent } = await sql.begin(async (tx) => {
    await tx`select from organizations where id = ${org} for no key update`;
    const sent = rotate();
    await waitFor("the attempt to wait", async () => (await countLockWaits(sql)) === 1);
    await sql`update idempotency_keys set status = 200, headers = '{}', body = ''
      where key = 'outlived'`;
    // In an object: a promise that is returned would be awaited before the commit.
    return { sent };
  });
  const { status, body } = await sent;
  expect([status, body.error?.code]).toEqual([409, "operation_in_progress"]);
  const [row] = await sql`select version from api_tokens where id = ${minted.id}`;
  expect(row?.version).toBe(1);
});

test("a list of organizations stays complete while some are created and deleted", async () => {
  const person = await issuer.createPerson();
  const make = async (name: string) => {
    const { body } = await api.request("POST", ORGANIZATIONS, { token: person.token, body: { name } });
    return body.id as string;
  };
  const first = [];
  for (let index = 0; index < 6; index++) first.push(await make(`Page ${index}`));
  const seen: string[] = [];
  let query = "?limit=2";
  for (let page = 0; page < 10; page++) {
    const { body } = await api.request("GET", `${ORGANIZATIONS}${query}`, { token: person.token });
    seen.push(...body.items.map((item: { id: string }) => item.id));
    if (body.next_cursor === null) break;
    query = `?limit=2&cursor=${body.next_cursor}`;
    if (page > 1) continue;
    await api.request("DELETE", `${ORGANIZATIONS}/${body.next_cursor}`, { token: person.token });
    await make(`Late ${page}`);
  }
  expect(seen.slice(0, 6)).toEqual(first);
  expect(seen).toHaveLength(8);
  expect(new Set(seen).size).toBe(8);
});
