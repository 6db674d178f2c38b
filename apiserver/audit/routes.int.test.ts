import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import type { Author } from "../http/authentication/principal.ts";
import { addPerson, type Person } from "../testing/issuer.ts";
import { makePrincipal } from "../testing/membership.ts";
import { setUpTestService } from "../testing/service.ts";
import { recordAudit } from "./record.ts";
import { listAuditEntries } from "./store.ts";
import { auditLog } from "./table.ts";

const { api, issuer } = setUpTestService();
let owner: Person;
let staff: Person;
let orgId: string;
let path: string;
beforeAll(async () => {
  staff = await issuer.createStaff();
});
beforeEach(async () => {
  owner = await issuer.createPerson();
  const { body } = await api.request("POST", "/api/v1/organizations", {
    token: owner.token,
    body: { name: "Audit" },
  });
  orgId = body.id;
  path = `/api/v1/organizations/${orgId}/audit-log`;
});

function authorOf(person: Person, asStaff = false): Author {
  return {
    principal: makePrincipal(person.userId, { email: person.email }),
    requestId: "test",
    sourceAddress: "192.0.2.7",
    ...(asStaff ? { asStaff } : {}),
  };
}

const entry = (action: string) =>
  ({ action, orgId, target: { kind: "thing", id: action }, result: "done" }) as const;
const read = async (query = "", token = owner.token) => api.request("GET", `${path}${query}`, { token });
const actions = (body: { items: { action: string }[] }) => body.items.map(({ action }) => action);

describe("the tenant's audit log", () => {
  test("records who did what to what, from where, with what result", async () => {
    const rename = (name: string) =>
      api.request("PUT", `/api/v1/organizations/${orgId}`, {
        token: owner.token,
        body: { name },
        headers: { "x-request-id": "audit-42" },
      });
    const { headers } = await rename("Audited");
    const { body } = await read();
    expect(actions(body)).toEqual(["organization.create", "organization.update"]);
    expect(body.items[1]).toMatchObject({
      actor: { kind: "user", id: owner.userId, email: owner.email, name: null },
      org_id: orgId,
      target: { kind: "organization", id: orgId },
      before: { name: "Audit" },
      after: { name: "Audited" },
      request_id: headers.get("x-request-id"),
      client_request_id: "audit-42",
      result: "done",
    });
    expect(body.next_cursor).toBeNull();
  });

  test("shows nothing of another organization", async () => {
    const { body } = await read();
    for (const item of body.items) expect(item.org_id).toBe(orgId);
    const outsider = await issuer.createPerson();
    expect((await read("", outsider.token)).status).toBe(404);
  });

  test("is filtered by actor, action, target and time", async () => {
    const admin = await issuer.createPerson();
    await addPerson(api.deps, orgId, admin, "admin");
    await recordAudit(api.deps.db, authorOf(admin), entry("thing.one"));
    await recordAudit(api.deps.db, authorOf(owner), entry("thing.two"));
    const only = async (query: string) => actions((await read(query)).body);
    expect(await only(`?actor=${admin.userId}`)).toEqual(["thing.one"]);
    expect(await only("?action=thing.two")).toEqual(["thing.two"]);
    expect(await only("?target=thing.one")).toEqual(["thing.one"]);
    expect(await only(`?actor=${admin.userId}&action=thing.two`)).toEqual([]);
    const now = encodeURIComponent(new Date(Date.now() + 1000).toISOString());
    expect(await only(`?from=${now}`)).toEqual([]);
    expect(await only(`?to=${now}`)).toEqual(["organization.create", "thing.one", "thing.two"]);
  });

  test("of large entries reads no more than a page has room for, and all pages have each entry once", async () => {
    const names = Array.from({ length: 6 }, (_, n) => `thing.${n}`);
    const after = { text: "a".repeat(400_000) };
    for (const name of names) await recordAudit(api.deps.db, authorOf(owner), { ...entry(name), after });
    const stored = await listAuditEntries(api.deps.db, { orgId, limit: 100 });
    expect(stored).toHaveLength(4);
    const seen: string[] = [];
    for (let cursor = ""; cursor !== "end"; ) {
      const { body } = await read(`?limit=100${cursor}`);
      expect(body.items.length).toBeLessThan(4);
      seen.push(...actions(body));
      cursor = body.next_cursor === null ? "end" : `&cursor=${body.next_cursor}`;
    }
    expect(seen).toEqual(["organization.create", ...names]);
  });

  test.each(["?from=yesterday", "?actor=", "?limit=0", "?cursor=1", "?who=me"])(
    "with %s is 400 bad_request",
    async (query) => {
      const response = await read(query);
      expect([response.status, response.body.error.code]).toEqual([400, "bad_request"]);
    },
  );

  test("records that the provider acted, and neither who nor from where", async () => {
    await recordAudit(api.deps.db, authorOf(staff, true), entry("quota.update"));
    const tenant = (await read("?action=quota.update")).body.items[0];
    expect(tenant.actor).toEqual({ kind: "provider", id: null, email: null, name: null });
    expect(tenant.source_address).toBeNull();
    expect(actions((await read(`?actor=${staff.userId}`)).body)).toEqual([]);
    const { body } = await api.request("GET", `/api/v1/admin/audit-log?org_id=${orgId}&action=quota.update`, {
      token: staff.token,
    });
    expect(body.items[0]).toMatchObject({
      actor: { kind: "staff", id: staff.userId, email: staff.email },
      source_address: "192.0.2.7",
    });
  });

  test("records what Kubernetes clients changed by their field manager", async () => {
    await api.deps.db.insert(auditLog).values({
      id: createId(),
      actor: { kind: "kubernetes", manager: "argocd" },
      action: "cluster.update",
      orgId,
      targetKind: "cluster",
      targetId: createId(),
      result: "done",
    });
    const { body } = await read("?actor=argocd");
    expect(body.items[0].actor).toEqual({ kind: "kubernetes", id: null, email: null, name: "argocd" });
  });
});

describe("following the log from an id", () => {
  test("returns what came after it, page by page, also from the last one", async () => {
    const wanted = Array.from({ length: 7 }, (_, index) => `thing.${index}`);
    for (const action of wanted) await recordAudit(api.deps.db, authorOf(owner), entry(action));
    const first = await read("?limit=3");
    const second = await read(`?limit=5&cursor=${first.body.next_cursor}`);
    expect([...actions(first.body), ...actions(second.body)]).toEqual(["organization.create", ...wanted]);
    expect(second.body.next_cursor).toBeNull();
    const end = second.body.items.at(-1).id;
    expect((await read(`?cursor=${end}`)).body.items).toEqual([]);
    await recordAudit(api.deps.db, authorOf(owner), entry("thing.later"));
    expect(actions((await read(`?cursor=${end}`)).body)).toEqual(["thing.later"]);
  });

  test("misses no row that was committed late, though its id is older", async () => {
    const held = Promise.withResolvers<void>();
    const isWritten = Promise.withResolvers<void>();
    const slow = api.deps.db.transaction(async (tx) => {
      await recordAudit(tx, authorOf(owner), entry("thing.slow"));
      isWritten.resolve();
      await held.promise;
    });
    await isWritten.promise;
    await recordAudit(api.deps.db, authorOf(owner), entry("thing.quick"));
    const before = await read();
    expect(actions(before.body)).toEqual(["organization.create", "thing.quick"]);
    held.resolve();
    await slow;
    const after = await read(`?cursor=${before.body.items.at(-1).id}`);
    expect(actions(after.body)).toEqual(["thing.slow"]);
  });

  test("returns every row once while forty are being written at once", async () => {
    const seen: string[] = [];
    let cursor = "";
    const writing = Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        recordAudit(api.deps.db, authorOf(owner), entry(`thing.${index}`)),
      ),
    );
    let isDone = false;
    void writing.then(() => {
      isDone = true;
    });
    for (;;) {
      const wasDone = isDone;
      const { body } = await read(`?limit=100${cursor}`);
      seen.push(...actions(body));
      const last = body.items.at(-1)?.id;
      if (last !== undefined) cursor = `&cursor=${last}`;
      if (wasDone && body.items.length === 0) break;
    }
    await writing;
    expect(new Set(seen).size).toBe(41);
    expect(seen).toHaveLength(41);
  });
});

describe("the audit log is append-only", () => {
  test.each([
    ["a change", "update audit_log set action = 'nothing'"],
    ["a change of the result", "update audit_log set result = 'failed'"],
    ["another position", "update audit_log set position = position + 1000"],
    ["removal", "delete from audit_log"],
    ["emptying", "truncate audit_log"],
  ])("the database refuses %s, even to the table's owner", async (_what, statement) => {
    await read();
    await expect(api.deps.sql.unsafe(statement)).rejects.toThrow("audit_log is append-only");
  });
});

test("a change whose audit row cannot be written does not happen", async () => {
  await api.deps.sql.unsafe(
    "alter table audit_log add constraint no_more check (action <> 'organization.update') not valid",
  );
  try {
    const response = await api.request("PUT", `/api/v1/organizations/${orgId}`, {
      token: owner.token,
      body: { name: "Unseen" },
    });
    expect(response.status).toBe(500);
    const { body } = await api.request("GET", `/api/v1/organizations/${orgId}`, { token: owner.token });
    expect(body.name).toBe("Audit");
  } finally {
    await api.deps.sql.unsafe("alter table audit_log drop constraint no_more");
  }
});
