import { expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { createGroupPerson, mapGroup, passTime, runGroupJobs } from "../members/groups/testing.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { answerInvitation, type Person } from "../testing/issuer.ts";
import { clusterAccessJobs } from "./jobs.ts";
import { runRevocations } from "./revocations.ts";
import {
  holdsAccess,
  issueSigned,
  makeAccessObject,
  reportReady,
  setUpAccessService,
  waitForRevocations,
} from "./testing.ts";

const TWO_DAYS_SECONDS = 2 * 86_400;
const {
  api,
  issuer,
  org,
  clusters: [cluster, other],
} = setUpAccessService("Opened", "Other");

const as = ({ token }: Pick<Person, "token">, method: string, path: string, body?: object) =>
  api.request(method, `${org.path}${path}`, { token, ...(body === undefined ? {} : { body }) });

interface GroupMember extends Person {
  mappingID: string;
  expiresAt: string;
}

/** A member by a group, whose time ends sooner than a kubeconfig may. */
async function addGroupMember(): Promise<GroupMember> {
  const { group, mappingID } = await mapGroup(api.deps, issuer.config.issuer, org.id, "member");
  const person = await createGroupPerson(issuer, group);
  const { body } = await api.request("GET", "/api/v1/me", { token: person.token });
  return { ...person, mappingID, expiresAt: body.organizations[0].expires_at };
}

/** Downloads the admin kubeconfig of a cluster. */
async function download({ token }: Person, { id }: ProjectedCluster): Promise<void> {
  await reportReady(api.deps, org.id, id);
  expect((await as({ token }, "GET", `/clusters/${id}/kubeconfig`)).status).toBe(200);
}

async function readGeneration({ namespace, name }: ProjectedCluster): Promise<number> {
  return (await api.deps.kube.get(clusterKind, namespace, name))?.spec.credentialsGeneration ?? 0;
}

test("a kubeconfig of a member by a group never outlives the membership", async () => {
  const member = await addGroupMember();
  const { issued, access } = await issueSigned(api, cluster, member);
  expect(issued.status).toBe(201);
  expect([issued.body.expires_at, access?.spec.notAfter]).toEqual([member.expiresAt, member.expiresAt]);
});

test.each<[string, (member: GroupMember) => Promise<unknown>]>([
  [
    "in its time",
    async (member) => {
      await passTime(api.deps, org.id, member, TWO_DAYS_SECONDS);
      await runGroupJobs(api);
      await runRevocations(api.deps);
    },
  ],
  [
    "with its mapping",
    async ({ mappingID }) => {
      const staff = await issuer.createStaff();
      await api.request("DELETE", `/api/v1/admin/group-mappings/${mappingID}`, staff);
    },
  ],
  [
    "with an invitation that is accepted to a role that opens no cluster",
    async (member) => {
      await as(org.owner, "POST", "/members", { email: member.email, role: "viewer" });
      await answerInvitation(api, org.id, member);
    },
  ],
])(
  "a membership by a group that ends %s takes its kubeconfigs and the downloaded one along",
  async (_case, end) => {
    const member = await addGroupMember();
    const access = await makeAccessObject(api.deps, cluster, member);
    await download(member, cluster);
    await download(org.owner, other);
    const before = [await readGeneration(cluster), await readGeneration(other)] as const;
    await end(member);
    await waitForRevocations(api.deps, org.id);
    expect(await holdsAccess(api.deps, cluster, access)).toBe(false);
    const raises = [(await readGeneration(cluster)) - before[0], (await readGeneration(other)) - before[1]];
    expect(raises).toEqual([1, 0]);
  },
);

test("an access is swept away as soon as the time of the membership is over", async () => {
  const member = await addGroupMember();
  const access = await makeAccessObject(api.deps, cluster, member);
  await passTime(api.deps, org.id, member, TWO_DAYS_SECONDS);
  const sweep = clusterAccessJobs(api.deps).find(({ name }) => name === "cluster-accesses");
  await sweep?.run(new AbortController().signal);
  expect(await holdsAccess(api.deps, cluster, access)).toBe(false);
  const rows = await api.deps.sql`select action, actor, before from audit_log where target_id = ${access}`;
  const actor = { kind: "system", name: "cluster-accesses" };
  expect(rows).toMatchObject([
    { action: "cluster_access.revoke", actor, before: { cluster_id: cluster.id, subject: member.userId } },
  ]);
});
