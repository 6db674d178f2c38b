import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../../shared/crd/cluster-access.ts";
import { LABEL_ID, LABEL_USER_ID } from "../../../shared/crd/names.ts";
import { mintFor } from "../../api-tokens/testing.ts";
import { auditLog } from "../../audit/table.ts";
import { addPerson, makeOrganization, type Person } from "../../testing/issuer.ts";
import { followOffboardings } from "../jobs.ts";
import { makeAccessObject, reportReady, setUpAccessService, waitForRevocations } from "../testing.ts";
import { purgeOffboardings } from "./store.ts";

const TEST = { fieldManager: "test" };
/** Holds an access as the operator does whose tenant's API does not respond. */
const HOLD = "test.example.com/hold";
const {
  api,
  issuer,
  org,
  owner,
  clusters: [cluster],
} = setUpAccessService("Opened");

const as = ({ token }: Pick<Person, "token">, method: string, path: string, body?: object) =>
  api.request(method, `/api/v1/organizations/${org.id}${path}`, {
    token,
    ...(body === undefined ? {} : { body }),
  });

async function addMember() {
  const person = await issuer.createPerson();
  return { ...person, memberId: await addPerson(api.deps, org.id, person, "member") };
}

const follow = () => followOffboardings(api.deps, new AbortController().signal);
const read = (memberId: string) => as(owner, "GET", `/members/${memberId}/offboarding`);

async function remove(memberId: string): Promise<void> {
  const { status } = await as(owner, "DELETE", `/members/${memberId}`);
  if (status !== 204) throw new Error(`not removed: ${status}`);
  await waitForRevocations(api.deps, org.id);
}

/** An access that is not gone before it is released, whoever deletes it. */
async function makeHeldAccess(person: Person) {
  const { kube } = api.deps;
  const { namespace } = cluster;
  const id = await makeAccessObject(api.deps, cluster, person);
  const labelSelector = `${LABEL_ID}=${id}`;
  const [access] = await kube.listAll(clusterAccessKind, { namespace, labelSelector });
  const name = access?.metadata.name ?? "";
  const setFinalizers = (finalizers: string[]) =>
    kube.mergePatch(clusterAccessKind, namespace, name, { metadata: { finalizers } }, TEST);
  await setFinalizers([HOLD]);
  return {
    id,
    async release() {
      await setFinalizers([]).catch(() => undefined);
      await waitFor("it to be gone", async () => {
        await setFinalizers([]).catch(() => undefined);
        return (await kube.get(clusterAccessKind, namespace, name)) === undefined;
      });
    },
  };
}

/** Reports that the rights in the cluster are as the present generation says. */
async function enforceGeneration(): Promise<void> {
  const object = await api.deps.kube.get(clusterKind, cluster.namespace, cluster.name);
  const credentialsGeneration = object?.spec.credentialsGeneration ?? 0;
  await reportReady(api.deps, org.id, cluster.id, { credentialsGeneration });
}

test("what ended with a membership is pending until it has ended in the clusters, then complete and audited", async () => {
  const member = await addMember();
  const token = await mintFor(api.deps, member, org.id, { role: "member", scopes: ["clusters:access"] });
  const access = await makeHeldAccess(member);
  await reportReady(api.deps, org.id, cluster.id, { credentialsGeneration: 0 });
  expect((await as(member, "GET", `/clusters/${cluster.id}/kubeconfig`)).status).toBe(200);
  await remove(member.memberId);
  await follow();
  const { body: before } = await read(member.memberId);
  expect(before).toMatchObject({
    member_id: member.memberId,
    org_id: org.id,
    user_id: member.userId,
    pending_since: expect.any(String),
    completed_at: null,
    cannot_end: { clusters: [{ cluster_id: cluster.id, name: "Opened", foreign_admins: null }] },
  });
  const rightOf = (kind: string, id: string, ended: unknown) =>
    expect.objectContaining({ kind, id, ended_at: ended });
  expect(before.rights).toHaveLength(3);
  expect(before.rights).toEqual(
    expect.arrayContaining([
      rightOf("api_token", token.id, expect.any(String)),
      rightOf("cluster_access", access.id, null),
      rightOf("admin_credentials", cluster.id, null),
    ]),
  );

  await access.release();
  await follow();
  const { body: between } = await read(member.memberId);
  expect(between.rights).toContainEqual(rightOf("cluster_access", access.id, expect.any(String)));
  expect(between).toMatchObject({ completed_at: null });

  await enforceGeneration();
  await follow();
  const { body: after } = await read(member.memberId);
  expect(after).toMatchObject({ pending_since: null, completed_at: expect.any(String) });
  await follow();
  const audited = await api.deps.db
    .select()
    .from(auditLog)
    .where(and(eq(auditLog.targetId, member.memberId), eq(auditLog.action, "member.offboard")));
  expect(audited).toMatchObject([
    { orgId: org.id, actor: { kind: "system", name: "offboarding" }, after: { user_id: member.userId } },
  ]);
});

test("an access ends with the membership of its subject alone, whatever user its label names", async () => {
  const member = await addMember();
  const make = (person: Person, label: string) =>
    makeAccessObject(api.deps, cluster, person, { [LABEL_USER_ID]: label });
  const ids = [await make(member, "by-hand"), await make(member, owner.userId)];
  await make(owner, member.userId);
  await remove(member.memberId);
  const { rights } = (await read(member.memberId)).body;
  expect(rights.map(({ id }: { id: string }) => id).toSorted()).toEqual(ids.toSorted());
});

test("it completes when a replica of an earlier version has rotated the admin credentials", async () => {
  const member = await addMember();
  expect((await as(member, "GET", `/clusters/${cluster.id}/kubeconfig`)).status).toBe(200);
  await remove(member.memberId);
  const { sql } = api.deps;
  await sql`update ended_rights set generation = null where member_id = ${member.memberId}`;
  await follow();
  expect((await read(member.memberId)).body).toMatchObject({ completed_at: null });
  await enforceGeneration();
  await follow();
  expect((await read(member.memberId)).body).toMatchObject({ completed_at: expect.any(String) });
});

test("a member who had nothing is offboarded at once, and forgotten after 30 days", async () => {
  const member = await addMember();
  await remove(member.memberId);
  await follow();
  expect((await read(member.memberId)).body).toMatchObject({ pending_since: null, rights: [] });
  const { sql, db } = api.deps;
  await sql`update offboardings set removed_at = now() - interval '31 days' where member_id = ${member.memberId}`;
  await purgeOffboardings(db);
  expect((await read(member.memberId)).status).toBe(404);
});

test("there is none of a member who is there, and none for the members of another organization", async () => {
  const member = await addMember();
  expect((await read(member.memberId)).status).toBe(404);
  await remove(member.memberId);
  const other = await makeOrganization(api, issuer);
  const path = `/api/v1/organizations/${other.id}/members/${member.memberId}/offboarding`;
  expect((await api.request("GET", path, { token: other.owner.token })).status).toBe(404);
});

test("a metric tells how long the oldest right has been pending", async () => {
  const member = await addMember();
  const access = await makeHeldAccess(member);
  await remove(member.memberId);
  const { sql, metrics } = api.deps;
  await sql`update offboardings set removed_at = now() - interval '2 hours' where member_id = ${member.memberId}`;
  const figure = /^marina_apiserver_ended_rights_pending_seconds (\d+)/m.exec(await metrics.metrics());
  expect(Number(figure?.[1])).toBeGreaterThanOrEqual(7200);
  await access.release();
});
