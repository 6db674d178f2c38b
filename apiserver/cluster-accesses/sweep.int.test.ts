import { expect, test } from "vitest";
import { type ClusterAccess, clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_CLUSTER_ID, LABEL_ID } from "../../shared/crd/names.ts";
import type { Deps } from "../deps.ts";
import { addPerson } from "../testing/issuer.ts";
import { clusterAccessJobs } from "./jobs.ts";
import { holdsAccess, makeAccessObject, setUpAccessService, waitForRevocations } from "./testing.ts";

const {
  api,
  issuer,
  org,
  owner,
  clusters: [cluster],
} = setUpAccessService("Opened");

async function sweep(deps: Deps = api.deps): Promise<void> {
  const job = clusterAccessJobs(deps).find(({ name }) => name === "cluster-accesses");
  await job?.run(new AbortController().signal);
}

async function findAccess(id: string): Promise<ClusterAccess> {
  const place = { namespace: cluster.namespace, labelSelector: `${LABEL_ID}=${id}` };
  const [access] = await api.deps.kube.listAll(clusterAccessKind, place);
  if (access === undefined) throw new Error("there is no such access");
  return access;
}

const findAudits = (target: string) =>
  api.deps.sql`select action, actor, before, result from audit_log where target_id = ${target} order by id`;

/** The audit row of an access of a user that the sweep has revoked. */
const revoked = (subject: string, result = "done") => ({
  action: "cluster_access.revoke",
  actor: { kind: "system", name: "cluster-accesses" },
  before: { cluster_id: cluster.id, subject, ttl_seconds: 86_400 },
  result,
});

/** The dependencies of a sweep that finds one access alone, with this label of its id. */
function withLabelledId({ metadata: { uid } }: ClusterAccess, label: string | undefined): Deps {
  const { kube } = api.deps;
  const listAll = async () => {
    const accesses = await kube.listAll(clusterAccessKind);
    return accesses
      .filter(({ metadata }) => metadata.uid === uid)
      .map(({ metadata, ...access }) => {
        const { [LABEL_ID]: _id, ...labels } = metadata.labels ?? {};
        const labelled = label === undefined ? labels : { ...labels, [LABEL_ID]: label };
        return { ...access, metadata: { ...metadata, labels: labelled } };
      });
  };
  return { ...api.deps, kube: { ...kube, listAll } as unknown as Deps["kube"] };
}

test("an access whose label holds no id of a cluster ends after the membership, with the cluster that it names in its audit row", async () => {
  const person = await issuer.createPerson();
  const memberId = await addPerson(api.deps, org.id, person, "member");
  const id = await makeAccessObject(api.deps, cluster, person, { [LABEL_CLUSTER_ID]: "by-hand" });
  const path = `/api/v1/organizations/${org.id}/members/${memberId}`;
  expect((await api.request("DELETE", path, { token: owner.token })).status).toBe(204);
  await waitForRevocations(api.deps, org.id);
  await sweep();
  expect(await holdsAccess(api.deps, cluster, id)).toBe(false);
  expect(await findAudits(id)).toEqual([revoked(person.userId)]);
});

test.each([
  ["no id yet", undefined],
  ["a malformed id", "by-hand"],
])(
  "an access with %s whose holder has lost the right is deleted, and audited by its uid",
  async (_, label) => {
    const person = await issuer.createPerson();
    const id = await makeAccessObject(api.deps, cluster, person);
    const access = await findAccess(id);
    const deps = withLabelledId(access, label);
    const ended = async () => Promise.reject(new Error("the process has ended"));
    await expect(sweep({ ...deps, kube: { ...deps.kube, delete: ended } })).rejects.toThrow("has ended");
    await sweep(deps);
    expect(await holdsAccess(api.deps, cluster, id)).toBe(false);
    const audits = [revoked(person.userId, "accepted"), revoked(person.userId)];
    expect(await findAudits(access.metadata.uid ?? "")).toEqual(audits);
  },
);
