import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { createId } from "../../../shared/program/id.ts";
import { auditLog } from "../../audit/table.ts";
import { startTestApp } from "../../testing/app.ts";

const api = setUp(startTestApp);
let orgId: string;
let clusterId: string;
let path: string;

beforeAll(async () => {
  orgId = await api.createOrganization();
  const clusters = `/api/v1/organizations/${orgId}/clusters`;
  const body = { name: "First", k8s_version: "1.34", plan: "scale" };
  clusterId = (await api.request("POST", clusters, { body })).body.id;
  path = `${clusters}/${clusterId}`;
});
afterAll(async () => {
  await api.request("DELETE", path);
});

async function readGeneration() {
  const [object] = await api.deps.kube.listAll(clusterKind, { namespace: `org-${orgId}` });
  return object?.spec.credentialsGeneration;
}

describe("rotating the admin credentials", () => {
  test("raises their generation, each time, and is audited", async () => {
    const first = await api.request("POST", `${path}/credentials/rotate`);
    expect(first.status).toBe(202);
    expect(first.headers.get("location")).toBe(path);
    expect(first.body.id).toBe(clusterId);
    expect(await readGeneration()).toBe(1);
    await api.request("POST", `${path}/credentials/rotate`);
    expect(await readGeneration()).toBe(2);
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.targetId, clusterId), eq(auditLog.action, "cluster.rotate_credentials")));
    expect(rows.map(({ after }) => after?.credentials_generation)).toEqual([1, 2]);
  });

  test("under one Idempotency-Key happens once", async () => {
    const before = (await readGeneration()) ?? 0;
    const headers = { "idempotency-key": createId() };
    await api.request("POST", `${path}/credentials/rotate`, { headers });
    await api.request("POST", `${path}/credentials/rotate`, { headers });
    expect(await readGeneration()).toBe(before + 1);
  });

  test("is for owners and admins", async () => {
    await api.addMember(orgId, "bob", "member");
    const refused = await api.request("POST", `${path}/credentials/rotate`, { as: "bob" });
    expect([refused.status, refused.body.error.code]).toEqual([403, "forbidden"]);
  });
});
