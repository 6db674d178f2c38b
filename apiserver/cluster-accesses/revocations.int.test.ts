import { and, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_API_TOKEN_ID, LABEL_API_TOKEN_VERSION } from "../../shared/crd/names.ts";
import { createId } from "../../shared/program/id.ts";
import { createKeyedSlots } from "../../shared/program/limits.ts";
import { createLogger } from "../../shared/program/log.ts";
import { mintFor } from "../api-tokens/testing.ts";
import { addAuditPartitions } from "../audit/store.ts";
import { auditLog } from "../audit/table.ts";
import { addPerson, type Person } from "../testing/issuer.ts";
import { withUnreachableKube } from "../testing/unreachable-kube.ts";
import { runRevocations } from "./revocations.ts";
import {
  holdsAccess,
  issueSigned,
  makeAccessObject,
  reportReady,
  setUpAccessService,
  waitForRevocations,
} from "./testing.ts";

const DAY_MS = 86_400_000;
const {
  api,
  issuer,
  org,
  owner,
  clusters: [cluster, other],
} = setUpAccessService("Opened", "Other");

const as = ({ token }: Pick<Person, "token">, method: string, path: string, body?: object) =>
  api.request(method, `/api/v1/organizations/${org.id}${path}`, {
    token,
    ...(body === undefined ? {} : { body }),
  });

async function addMember(): Promise<Person & { memberId: string }> {
  const person = await issuer.createPerson();
  return { ...person, memberId: await addPerson(api.deps, org.id, person, "member") };
}

const mint = (creator: Person) =>
  mintFor(api.deps, creator, org.id, { role: "member", scopes: ["clusters:access"] });

/** Downloads the admin kubeconfig of a cluster. */
async function download(token: string, { id } = cluster): Promise<void> {
  await reportReady(api.deps, org.id, id);
  const response = await as({ token }, "GET", `/clusters/${id}/kubeconfig`);
  if (response.status !== 200) throw new Error(JSON.stringify(response.body));
}

async function readGeneration({ namespace, name } = cluster): Promise<number> {
  const object = await api.deps.kube.get(clusterKind, namespace, name);
  return object?.spec.credentialsGeneration ?? 0;
}

/** By how much an action raises the generation of each cluster, once nothing is left to be revoked. */
async function countRaises(action: () => Promise<{ status: number }>): Promise<[number, number]> {
  const before = [await readGeneration(cluster), await readGeneration(other)] as const;
  const { status } = await action();
  expect([200, 204]).toContain(status);
  await waitForRevocations(api.deps, org.id);
  return [(await readGeneration(cluster)) - before[0], (await readGeneration(other)) - before[1]];
}

describe("the admin kubeconfig that a person downloaded", () => {
  test("is revoked with the membership, in the clusters of the download alone, and audited as by who removed the person", async () => {
    const member = await addMember();
    await download(member.token);
    await download(member.token);
    await download(owner.token, other);
    const requestId = createId();
    const raises = await countRaises(() =>
      api.request("DELETE", `/api/v1/organizations/${org.id}/members/${member.memberId}`, {
        token: owner.token,
        headers: { "x-request-id": requestId },
      }),
    );
    expect(raises).toEqual([1, 0]);
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.clientRequestId, requestId), eq(auditLog.action, "cluster.rotate_credentials")));
    expect(rows).toMatchObject([
      { targetId: cluster.id, actor: { kind: "user", userId: owner.userId }, result: "done" },
    ]);
  });

  test("is revoked with a role that opens no cluster, and with no other one", async () => {
    const member = await addMember();
    await download(member.token);
    const setRole = (role: string) => as(owner, "PUT", `/members/${member.memberId}`, { role });
    expect(await countRaises(() => setRole("admin"))).toEqual([0, 0]);
    expect(await countRaises(() => setRole("viewer"))).toEqual([1, 0]);
    expect(await countRaises(() => setRole("billing"))).toEqual([0, 0]);
  });

  test("is revoked with the membership where a token of the person downloaded it", async () => {
    const member = await addMember();
    await download((await mint(member)).text);
    expect(await countRaises(() => as(member, "DELETE", `/members/${member.memberId}`))).toEqual([1, 0]);
  });

  test("stays when it has expired", async () => {
    const member = await addMember();
    const at = new Date(Date.now() - 7 * DAY_MS - 60_000);
    await addAuditPartitions(api.deps.db, at);
    await api.deps.db.insert(auditLog).values({
      id: createId(),
      at,
      actor: { kind: "user", userId: member.userId, email: null },
      action: "cluster.kubeconfig",
      orgId: org.id,
      targetKind: "cluster",
      targetId: cluster.id,
      result: "done",
    });
    expect(await countRaises(() => as(owner, "DELETE", `/members/${member.memberId}`))).toEqual([0, 0]);
  });
});

describe("the admin kubeconfig that an API token downloaded", () => {
  test("is revoked with the token, and with no other one of the same person", async () => {
    const member = await addMember();
    const [its, idle] = [await mint(member), await mint(member)];
    await download(its.text);
    expect(await countRaises(() => as(member, "DELETE", `/api-tokens/${idle.id}`))).toEqual([0, 0]);
    expect(await countRaises(() => as(member, "DELETE", `/api-tokens/${its.id}`))).toEqual([1, 0]);
  });

  test("stays when the token is rotated", async () => {
    const member = await addMember();
    const its = await mint(member);
    await download(its.text);
    expect(await countRaises(() => as(member, "POST", `/api-tokens/${its.id}/rotate`))).toEqual([0, 0]);
  });
});

const holds = (id: string) => holdsAccess(api.deps, cluster, id);

describe("a kubeconfig that an API token got", () => {
  test("ends when the token is rotated, and what its new secret got stays", async () => {
    const member = await addMember();
    const its = await mint(member);
    const labels = (version: number) => ({
      [LABEL_API_TOKEN_ID]: its.id,
      [LABEL_API_TOKEN_VERSION]: String(version),
    });
    const old = await makeAccessObject(api.deps, cluster, member, labels(1));
    const recent = await makeAccessObject(api.deps, cluster, member, labels(2));
    expect((await as(member, "POST", `/api-tokens/${its.id}/rotate`)).status).toBe(200);
    await waitForRevocations(api.deps, org.id);
    expect([await holds(old), await holds(recent)]).toEqual([false, true]);
  });

  test("never outlives the token", async () => {
    const member = await addMember();
    const its = await mint(member);
    const { issued, access } = await issueSigned(api, cluster, { userId: member.userId, token: its.text });
    expect(issued.status).toBe(201);
    const token = await as(member, "GET", `/api-tokens/${its.id}`);
    expect(issued.body.expires_at).toBe(token.body.expires_at);
    expect(access?.spec.notAfter).toBe(token.body.expires_at);
  });
});

test("a revocation that the Kubernetes API does not take is tried again until it does", async () => {
  const member = await addMember();
  const id = await makeAccessObject(api.deps, cluster, member);
  await download(member.token);
  const before = await readGeneration();
  const { db, sql } = api.deps;
  // As a process leaves them that ends right after the commit.
  await sql`insert into kubeconfig_revocations (id, org_id, user_id, cluster_id, origin)
    select gen_random_uuid(), ${org.id}, subject.user_id, subject.cluster_id, ${sql.json({
      principal: { kind: "user", userId: owner.userId },
      requestId: "request-1",
    })}
    from (values (${member.userId}::uuid, null::uuid), (null, ${cluster.id}::uuid)) as subject (user_id, cluster_id)`;
  await withUnreachableKube((kube) => runRevocations({ ...api.deps, kube }));
  expect([await holds(id), await readGeneration()]).toEqual([true, before]);
  await waitFor("an attempt that succeeds", async () => {
    await sql`update kubeconfig_revocations set lease_expires_at = now() where org_id = ${org.id}`;
    await runRevocations({ ...api.deps, db });
    return (await sql`select from kubeconfig_revocations where org_id = ${org.id}`).length === 0;
  });
  expect([await holds(id), await readGeneration()]).toEqual([false, before + 1]);
});

test("a process that dies after it has raised a generation leaves a revocation that raises it no further", async () => {
  const { sql, kube } = api.deps;
  const before = await readGeneration();
  const principal = { kind: "user", userId: owner.userId };
  await sql`insert into kubeconfig_revocations (id, org_id, cluster_id, origin)
    values (gen_random_uuid(), ${org.id}, ${cluster.id}, ${sql.json({ principal, requestId: createId() })})`;
  // As if it had taken longer than its claim.
  const lose = () => sql`update kubeconfig_revocations
    set claim_id = null, lease_expires_at = now() + interval '1 hour' where org_id = ${org.id}`;
  const jsonPatch: typeof kube.jsonPatch = async (...args) => {
    const written = await kube.jsonPatch(...args);
    await lose();
    return written;
  };
  await runRevocations({ ...api.deps, kube: { ...kube, jsonPatch } }, { orgId: org.id });
  expect(await readGeneration()).toBe(before + 1);
  await sql`update kubeconfig_revocations set lease_expires_at = now() where org_id = ${org.id}`;
  await runRevocations(api.deps, { orgId: org.id });
  await waitForRevocations(api.deps, org.id);
  expect(await readGeneration()).toBe(before + 1);
});

describe("a revocation of many accesses", () => {
  /** Has both accesses of a new member revoked; `onDelete` is called before each deletion, with its number. */
  async function revokeTwo(onDelete: (count: number) => Promise<unknown>) {
    const { sql, kube } = api.deps;
    const member = await addMember();
    for (let count = 0; count < 2; count++) await makeAccessObject(api.deps, cluster, member);
    const principal = { kind: "user", userId: owner.userId };
    await sql`insert into kubeconfig_revocations (id, org_id, user_id, origin)
      values (gen_random_uuid(), ${org.id}, ${member.userId}, ${sql.json({ principal, requestId: "request-2" })})`;
    let count = 0;
    const remove: typeof kube.delete = async (...args) => {
      await onDelete(++count);
      return kube.delete(...args);
    };
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) };
    const log = createLogger({ name: "test", level: "warn", destination });
    await runRevocations({ ...api.deps, log, kube: { ...kube, delete: remove } }, { orgId: org.id });
    await waitForRevocations(api.deps, org.id);
    return { count, lines };
  }

  const setLease = (seconds: number) => api.deps.sql`
    update kubeconfig_revocations set lease_expires_at = now() + make_interval(secs => ${seconds})
    where org_id = ${org.id}`;

  test("keeps its claim for as long as it takes", async () => {
    const leases: number[] = [];
    const { count } = await revokeTwo(async () => {
      const [row] = await api.deps.sql<{ seconds: number }[]>`
        select extract(epoch from lease_expires_at - now())::float8 as seconds
        from kubeconfig_revocations where org_id = ${org.id}`;
      leases.push(row?.seconds ?? 0);
      await setLease(30);
    });
    expect(count).toBe(2);
    expect(Math.min(...leases)).toBeGreaterThan(30);
  });

  test("ends, and says so, when another process has taken it over", async () => {
    const { count, lines } = await revokeTwo(async () => {
      await setLease(0);
      await runRevocations({ ...api.deps, writeLocks: createKeyedSlots(1) }, { orgId: org.id });
    });
    expect(count).toBe(1);
    expect(lines.join("")).toContain("the revocation took longer than its claim");
  });
});
