import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import type { Person } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { recordRefusedRequests } from "./staff-requests.ts";
import { auditLog, refusedRequests } from "./table.ts";

const PATH = "/api/v1/admin/audit-log";
const HOUR_MS = 60 * 60_000;

const { api, issuer } = setUpTestService();
let outsider: Person;
let staff: Person;
beforeAll(async () => {
  staff = await issuer.createStaff();
});
beforeEach(async () => {
  outsider = await issuer.createPerson();
});

const findByRequest = (requestId: string) =>
  api.deps.db.select().from(auditLog).where(eq(auditLog.clientRequestId, requestId));

test("a read of staff is recorded with its organization and its query", async () => {
  const { body: org } = await api.request("POST", "/api/v1/organizations", {
    token: outsider.token,
    body: { name: "Read by staff" },
  });
  await api.request("GET", `${PATH}?limit=1&org_id=${org.id}`, {
    token: staff.token,
    headers: { "x-request-id": "staff-read" },
  });
  expect(await findByRequest("staff-read")).toEqual([
    expect.objectContaining({
      action: "admin.listAdminAuditLog",
      actor: { kind: "staff", userId: staff.userId, email: staff.email },
      orgId: org.id,
      after: { status: 200, query: { limit: "1", org_id: org.id } },
      result: "done",
    }),
  ]);
  const { body } = await api.request("GET", `/api/v1/organizations/${org.id}/audit-log`, {
    token: outsider.token,
  });
  expect(body.items.at(-1)).toMatchObject({
    action: "admin.listAdminAuditLog",
    actor: { kind: "provider", id: null },
  });
});

test("a request of staff that is refused is recorded as failed", async () => {
  await api.request("GET", `${PATH}?limit=0&target=%00`, {
    token: staff.token,
    headers: { "x-request-id": "bad-read" },
  });
  expect(await findByRequest("bad-read")).toEqual([
    expect.objectContaining({
      after: { status: 400, query: { limit: "0", target: "\uFFFD" } },
      result: "failed",
    }),
  ]);
});

test("of a long value of the query the beginning is recorded, never half a character", async () => {
  const target = `${"a".repeat(255)}\u{1F600}`;
  const response = await api.request("GET", `${PATH}?target=${encodeURIComponent(target)}&limit=0`, {
    token: staff.token,
    headers: { "x-request-id": "long-value" },
  });
  expect(response.status).toBe(400);
  expect(await findByRequest("long-value")).toEqual([
    expect.objectContaining({ after: { status: 400, query: { limit: "0", target: "a".repeat(255) } } }),
  ]);
});

test("requests without the role write into no organization's log", async () => {
  const { body: org } = await api.request("POST", "/api/v1/organizations", {
    token: outsider.token,
    body: { name: "Not written into" },
  });
  const path = `/api/v1/admin/organizations/${org.id}/quotas`;
  const stranger = await issuer.createPerson();
  expect((await api.request("GET", path, { token: stranger.token })).status).toBe(403);
  expect((await api.request("GET", path, { token: staff.token })).status).toBe(200);
  const { body } = await api.request(
    "GET",
    `/api/v1/organizations/${org.id}/audit-log?action=admin.getOrganizationQuotas`,
    { token: outsider.token },
  );
  expect(body.items.map((item: { result: string }) => item.result)).toEqual(["done"]);
});

test("requests without the role leave one row at once, and one with their number when the hour is over", async () => {
  // The clock stands still: the real one may pass the end of the hour meanwhile.
  const { now } = api.deps;
  onTestFinished(() => {
    api.deps.now = now;
  });
  const at = new Date();
  api.deps.now = () => at;
  await Promise.all(
    Array.from({ length: 5 }, () => api.request("GET", `${PATH}?limit=1`, { token: outsider.token })),
  );
  const rows = async () =>
    (await api.deps.db.select().from(auditLog).orderBy(auditLog.id)).filter(
      ({ actor }) => actor.kind === "user" && actor.userId === outsider.userId,
    );
  expect(await rows()).toEqual([
    expect.objectContaining({ orgId: null, after: { status: 403 }, result: "failed" }),
  ]);

  await recordRefusedRequests(api.deps);
  expect(await rows()).toHaveLength(1);

  const later = () => new Date(at.getTime() + HOUR_MS);
  await recordRefusedRequests({ db: api.deps.db, now: later });
  await recordRefusedRequests({ db: api.deps.db, now: later });
  expect((await rows()).slice(1)).toEqual([
    expect.objectContaining({
      action: "admin.listAdminAuditLog",
      after: { requests: 5, hour: expect.any(String) },
      result: "failed",
    }),
  ]);
  const counted = await api.deps.db
    .select()
    .from(refusedRequests)
    .where(eq(refusedRequests.actorId, outsider.userId));
  expect(counted).toEqual([]);
});
