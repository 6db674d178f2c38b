import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import {
  ANNOTATION_IDENTITY,
  ANNOTATION_RECREATE,
  ANNOTATION_REQUEST_ID,
  LABEL_ID,
} from "../../shared/crd/names.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { capiClusterKind, conditionOf, createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { bindRestoreTool, restoreObject } from "../testing/restore-tool.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const CLUSTERS = "clusters.cloud.marina.dev";
/** An object that is as old as its id, to the minute, is not taken for one from a backup. */
const BACKUP_AGE_MS = 70_000;

let place: { orgID: string; clusterID: string };
let engineer: Engineer;
let backup: Cluster;
let unbind: () => Promise<void>;

/** A cluster by REST without machines, its backup, and its loss: nothing of it is left. */
beforeAll(async () => {
  const { id: orgID } = expectStatus(
    201,
    await alice.call("createOrganization", { body: { name: "Restored" } }),
  );
  engineer = await createEngineer(stack, orgID);
  unbind = await bindRestoreTool();
  const body = { name: "Backed up", k8s_version: "1.34.2", plan: "scale" as const };
  const { id: clusterID } = expectStatus(202, await alice.call("createCluster", { orgID, body }));
  place = { orgID, clusterID };
  backup = await waitFor("the operator to take the cluster in, and its class to refuse it", async () => {
    const [cluster] = await engineer.client.listAll(clusterKind, { namespace: engineer.namespace });
    const isTaken = cluster?.status?.id === clusterID && hasNoConfirmation(cluster);
    return isTaken && conditionOf(cluster, "Stalled")?.status === "True" ? cluster : undefined;
  });
  await engineer.client.delete(clusterKind, engineer.namespace, backup.metadata.name);
  await waitFor("the cluster to be gone", async () => (await alice.call("getCluster", place)).status === 404);
  const createdAt = Date.parse(backup.metadata.creationTimestamp ?? "");
  await waitFor(
    "the backup to be older than what is just made",
    () => Date.now() - createdAt > BACKUP_AGE_MS,
  );
});
afterAll(async () => {
  await unbind();
  await engineer.close();
});

function hasNoConfirmation({ metadata }: Cluster): boolean {
  return metadata.annotations?.[ANNOTATION_IDENTITY] === undefined;
}

function waitForStall(name: string, reason: string): Promise<Cluster> {
  return waitFor(`${name} to be stalled by ${reason}`, async () => {
    const cluster = await engineer.getCluster(name);
    const stalled = conditionOf(cluster, "Stalled");
    if (stalled?.status === "True" && stalled.reason === reason) return cluster;
    throw new Error(JSON.stringify([cluster.metadata.annotations, cluster.status]));
  });
}

test("what REST made is restored with its annotations, keeps its id, and is made again by an engineer's annotation alone", async () => {
  const { name } = backup.metadata;
  expect(backup.metadata.annotations).toHaveProperty([ANNOTATION_REQUEST_ID]);
  await restoreObject(clusterKind, backup);
  const lost = await waitForStall(name, "InfrastructureLost");
  expect(lost.metadata.annotations?.[ANNOTATION_IDENTITY]).toBe(`known ${lost.metadata.uid}`);
  expect(await engineer.client.get(capiClusterKind, engineer.namespace, name)).toBeUndefined();
  await waitFor("REST to serve it", async () => (await alice.call("getCluster", place)).status === 200);
  const recreate = `${ANNOTATION_RECREATE}=${place.clusterID}`;
  await kubectl(["annotate", CLUSTERS, name, recreate, `-n=${engineer.namespace}`]);
  // The annotation stays until the cluster is made, which its class refuses.
  const goesOn = await waitForStall(name, "RejectedByClusterAPI");
  expect(goesOn.status?.id).toBe(place.clusterID);
  await waitFor("the confirmation to be removed", async () =>
    hasNoConfirmation(await engineer.getCluster(name)),
  );
});

test("a copy under another name is refused its id, gets nothing, and can be deleted", async () => {
  await restoreObject(clusterKind, backup, { name: "copy" });
  const copy = await waitForStall("copy", "DuplicateID");
  expect(copy.metadata.labels?.[LABEL_ID]).toBe(place.clusterID);
  expect(copy.status?.id).toBeUndefined();
  expect(await engineer.client.get(capiClusterKind, engineer.namespace, "copy")).toBeUndefined();
  await engineer.client.delete(clusterKind, engineer.namespace, "copy");
  await waitFor("the copy to be gone", async () => {
    return (await engineer.client.get(clusterKind, engineer.namespace, "copy")) === undefined;
  });
});
