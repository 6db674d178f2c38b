import { and, eq } from "drizzle-orm";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { unlessToRetry, waitFor } from "../../e2e/platform/stack/testing.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import {
  ANNOTATION_IDENTITY,
  LABEL_API_TOKEN_ID,
  LABEL_ID,
  LABEL_ORG_ID,
  LABEL_USER_ID,
} from "../../shared/crd/names.ts";
import { resourceQuotaKind } from "../../shared/kube/core-kinds.ts";
import { createId } from "../../shared/program/id.ts";
import { mintFor } from "../api-tokens/testing.ts";
import { auditLog } from "../audit/table.ts";
import { asAuthorized } from "../http/contract/caller.ts";
import { ACCESS_QUOTA, applyObjectQuota, hasLimits } from "../organizations/index.ts";
import { addPerson, makeOrganization, type Person } from "../testing/issuer.ts";
import { makePrincipal } from "../testing/membership.ts";
import { withUnreachableKube } from "../testing/unreachable-kube.ts";
import { issueKubeconfig } from "./issue.ts";
import { clusterAccessJobs } from "./jobs.ts";
import { makeAccessObject, reportReady, setUpAccessService, waitForRevocations } from "./testing.ts";

let path: string;
const {
  api,
  issuer,
  org,
  owner,
  clusters: [cluster],
} = setUpAccessService("Opened");
beforeAll(() => {
  path = `/api/v1/organizations/${org.id}/clusters/${cluster.id}`;
});

const makeAccess = (person: { userId: string; subject?: string }, labels?: Record<string, string>) =>
  makeAccessObject(api.deps, cluster, person, labels);

/** Whether an access is there and stays, once nothing is left to be revoked. */
async function holds(id: string): Promise<boolean> {
  await waitForRevocations(api.deps, org.id);
  const found = await api.deps.kube.listAll(clusterAccessKind, {
    namespace: cluster.namespace,
    labelSelector: `${LABEL_ID}=${id}`,
  });
  return found.some(({ metadata }) => metadata.deletionTimestamp === undefined);
}

async function sweep(): Promise<void> {
  for (const job of clusterAccessJobs(api.deps)) await job.run(new AbortController().signal);
}

async function addMember(role: "member" | "admin" = "member"): Promise<Person & { memberId: string }> {
  const person = await issuer.createPerson();
  return { ...person, memberId: await addPerson(api.deps, org.id, person, role) };
}

const asOwner = (method: string, place: string, body?: object) =>
  api.request(method, place, { token: owner.token, ...(body === undefined ? {} : { body }) });
const memberPath = ({ memberId }: { memberId: string }) =>
  `/api/v1/organizations/${org.id}/members/${memberId}`;

describe("the accesses of a person", () => {
  test("end with the membership", async () => {
    const [member, other] = [await addMember(), await addMember()];
    const [revoked, kept] = [await makeAccess(member), await makeAccess(other)];
    expect((await asOwner("DELETE", memberPath(member))).status).toBe(204);
    expect([await holds(revoked), await holds(kept)]).toEqual([false, true]);
  });

  test("end when the member leaves", async () => {
    const member = await addMember();
    const id = await makeAccess(member);
    await api.request("DELETE", memberPath(member), { token: member.token });
    expect(await holds(id)).toBe(false);
  });

  test("end with a role that opens no cluster, and with no other one", async () => {
    const member = await addMember("admin");
    const id = await makeAccess(member);
    await asOwner("PUT", memberPath(member), { role: "member" });
    expect(await holds(id)).toBe(true);
    await asOwner("PUT", memberPath(member), { role: "viewer" });
    expect(await holds(id)).toBe(false);
  });

  test("that an API token requested end with the token", async () => {
    const member = await addMember();
    const token = await mintFor(api.deps, member, org.id, { role: "member", scopes: ["clusters:access"] });
    const its = await makeAccess(member, { [LABEL_API_TOKEN_ID]: token.id });
    const own = await makeAccess(member);
    const revoked = await api.request("DELETE", `/api/v1/organizations/${org.id}/api-tokens/${token.id}`, {
      token: member.token,
    });
    expect(revoked.status).toBe(204);
    expect([await holds(its), await holds(own)]).toEqual([false, true]);
  });

  test("are swept away when the process died between the change and the revocation", async () => {
    const [removed, demoted, untouched] = [await addMember(), await addMember(), await addMember()];
    const ids = await Promise.all([removed, demoted, untouched].map((person) => makeAccess(person)));
    const { sql } = api.deps;
    await sql`delete from members where id = ${removed.memberId}`;
    await sql`update members set role = 'billing' where id = ${demoted.memberId}`;
    const token = await mintFor(api.deps, untouched, org.id, { role: "member", scopes: ["clusters:access"] });
    const its = await makeAccess(untouched, { [LABEL_API_TOKEN_ID]: token.id });
    await sql`update api_tokens set revoked_at = now() where id = ${token.id}`;
    // A label does not make it another organization's.
    const elsewhere = await makeOrganization(api, issuer);
    const labelled = await makeAccess(elsewhere.owner, { [LABEL_ORG_ID]: elsewhere.id });
    const broken = await makeAccess(removed, { [LABEL_USER_ID]: "by-hand" });
    await sweep();
    const left = await Promise.all([...ids, its, labelled, broken].map(holds));
    expect(left).toEqual([false, false, true, false, false, false]);
  });

  test("that the platform's staff created by kubectl are not swept, and read without the others", async () => {
    const id = await makeAccess({ userId: createId(), subject: "ops" }, { [LABEL_USER_ID]: "by-hand" });
    await sweep();
    expect(await holds(id)).toBe(true);
    const listed = vi.spyOn(api.deps.kube, "listAll");
    const { body } = await asOwner("GET", `${path}/accesses/${id}`);
    expect(await listed.mock.results[0]?.value).toHaveLength(1);
    listed.mockRestore();
    expect(body).toMatchObject({ id, email: null, api_token_id: null });
    const place = `${path}/accesses/${id}`;
    const headers = { "if-match": '"passed"' };
    expect((await api.request("DELETE", place, { token: owner.token, headers })).status).toBe(412);
    headers["if-match"] = (await asOwner("GET", place)).headers.get("etag") ?? "";
    expect((await api.request("DELETE", place, { token: owner.token, headers })).status).toBe(204);
    expect(await holds(id)).toBe(false);
  });
});

test("an access by kubectl for the e-mail address of a member ends with the membership, issued or not; one that was issued without a confirmation stays", async () => {
  const [removed, untouched] = [await addMember(), await addMember()];
  const make = async (
    { userId, email }: Pick<Person, "userId" | "email">,
    part: "confirmation" | "issued" | "both",
  ) => {
    const holder = { userId, subject: email.toUpperCase() };
    const id = await makeAccess(holder, { [LABEL_USER_ID]: "by-hand" });
    const place = { namespace: cluster.namespace, labelSelector: `${LABEL_ID}=${id}` };
    const [made] = await api.deps.kube.listAll(clusterAccessKind, place);
    const { name = "", uid } = made?.metadata ?? {};
    const annotations = { [ANNOTATION_IDENTITY]: part === "issued" ? null : `known ${uid}` };
    const patch = {
      metadata: { annotations },
      status: { certificate: part === "confirmation" ? null : "signed" },
    };
    const { kube } = api.deps;
    await kube.mergePatch(clusterAccessKind, cluster.namespace, name, patch, { fieldManager: "test" });
    await kube.mergePatch(clusterAccessKind, cluster.namespace, name, patch, {
      fieldManager: "test",
      subresource: "status",
    });
    return id;
  };
  const robot = { userId: createId(), email: "ops@platform.example" };
  const ids = [
    await make(removed, "both"),
    await make(removed, "confirmation"),
    await make(untouched, "both"),
    await make(robot, "issued"),
  ];
  await sweep();
  expect(await Promise.all(ids.map(holds))).toEqual([true, true, true, true]);
  await api.deps.sql`delete from members where id = ${removed.memberId}`;
  await sweep();
  expect(await Promise.all(ids.map(holds))).toEqual([false, false, true, true]);
});

describe("revoking an access", () => {
  test("is audited with who held it, once", async () => {
    const id = await makeAccess(owner);
    await asOwner("DELETE", `${path}/accesses/${id}`);
    const again = await asOwner("DELETE", `${path}/accesses/${id}`);
    expect([204, 404]).toContain(again.status);
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.targetId, id), eq(auditLog.action, "cluster_access.revoke")));
    expect(rows).toEqual([
      expect.objectContaining({ before: expect.objectContaining({ subject: owner.userId }) }),
    ]);
  });
});

test("the administrators that Marina did not make are shown as they were last read, and what they may be", async () => {
  const read = () => api.request("GET", `${path}/accesses/foreign`, { token: owner.token });
  await reportReady(api.deps, org.id, cluster.id);
  expect((await read()).body).toMatchObject({ count: null, names: [], observed_at: null });
  const foreignAdmins = { count: 21, names: ["ci", "kube-system/ann"], observedAt: "2026-11-21T09:00:00Z" };
  await reportReady(api.deps, org.id, cluster.id, { foreignAdmins });
  expect((await read()).body).toEqual({
    org_id: org.id,
    cluster_id: cluster.id,
    count: 21,
    names: ["ci", "kube-system/ann"],
    observed_at: "2026-11-21T09:00:00.000Z",
    note: expect.stringContaining("ServiceAccounts and their tokens"),
  });
});

describe("issuing a kubeconfig", () => {
  test("that is not signed in time is 503 with Retry-After, and leaves no access and no audit row", async () => {
    const response = await asOwner("POST", `${path}/kubeconfig`, { ttl_seconds: 600 });
    expect([response.status, response.body.error.code]).toEqual([503, "dependency_unavailable"]);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    const left = await api.deps.kube.listAll(clusterAccessKind, {
      namespace: cluster.namespace,
      labelSelector: `${LABEL_USER_ID}=${owner.userId}`,
    });
    expect(left.filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([]);
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(eq(auditLog.action, "cluster_access.create"));
    expect(rows).toEqual([]);
  });

  test("without a Kubernetes API is 503", async () => {
    const author = {
      principal: makePrincipal(owner.userId),
      requestId: "request-1",
      sourceAddress: undefined,
    };
    const request = { id: createId(), ttlSeconds: 600 };
    await withUnreachableKube((kube) =>
      expect(
        issueKubeconfig({ ...api.deps, kube }, asAuthorized(author), cluster, request),
      ).rejects.toMatchObject({
        code: "dependency_unavailable",
      }),
    );
  });

  test("is 422 quota_exceeded when the organization has all the accesses that it may have", async () => {
    const { kube, config } = api.deps;
    const countsOf = (limit: number) => ({ "count/clusteraccesses.cloud.marina.dev": limit });
    const place = { namespace: cluster.namespace, name: ACCESS_QUOTA };
    const setLimit = (limit: number) => applyObjectQuota(kube, place, countsOf(limit));
    const isCounted = async () => {
      const quota = await kube.get(resourceQuotaKind, cluster.namespace, ACCESS_QUOTA);
      const hard = quota?.status?.hard;
      return hard !== undefined && hasLimits({ spec: { hard } }, countsOf(0));
    };
    onTestFinished(async () => {
      await setLimit(config.maxClusterAccessesPerOrganization);
    });
    // kube-apiserver enforces a limit after it was counted, and a job of another test may restore the old one.
    const refused = await waitFor("the limit to be enforced", async () => {
      await setLimit(0);
      if (!(await isCounted())) return undefined;
      const response = await asOwner("POST", `${path}/kubeconfig`, { ttl_seconds: 600 });
      return unlessToRetry(response);
    });
    expect(refused.status).toBe(422);
    expect(refused.body.error).toMatchObject({
      code: "quota_exceeded",
      details: [{ field: "accesses", code: "out_of_range" }],
    });
  });

  test.each([
    ["below ten minutes", 599, "ttl_seconds/out_of_range"],
    ["above seven days", 604_801, "ttl_seconds/out_of_range"],
    ["for a part of a second", 600.5, "ttl_seconds/invalid_type"],
    ["for no time at all", undefined, "ttl_seconds/required"],
  ])("%s is 422", async (_case, ttlSeconds, fault) => {
    const response = await asOwner("POST", `${path}/kubeconfig`, { ttl_seconds: ttlSeconds });
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(fault)).toBe(true);
  });

  test("is not for viewers", async () => {
    const viewer = await issuer.createPerson();
    await addPerson(api.deps, org.id, viewer, "viewer");
    for (const [method, place] of [
      ["POST", `${path}/kubeconfig`],
      ["GET", `${path}/accesses`],
    ] as const)
      expect((await api.request(method, place, { token: viewer.token })).status).toBe(403);
  });
});
