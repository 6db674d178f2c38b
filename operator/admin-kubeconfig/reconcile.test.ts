import { expect, test } from "vitest";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { ANNOTATION_IDENTITY, LABEL_ID } from "../../shared/crd/names.ts";
import { nameAccessRights } from "../tenant/subjects.ts";
import { aCluster } from "../testing-cluster.ts";
import { decideBindings, RESTORE_WAIT_MS } from "./reconcile.ts";

const MINUTE_MS = 60_000;
/** RFC 9562: made at 2026-01-01T00:00:00Z. */
const ID = "019b76da-a800-7000-8000-000000000000";
const MADE_AT = Date.parse("2026-01-01T00:00:00Z");
const RESTORED_AT = MADE_AT + 30 * 24 * 60 * MINUTE_MS;

const BASIS = {
  clusterId: ID,
  credentialsGeneration: 2,
  server: "https://demo",
  accessSource: "ca" as const,
  capiUid: "capiUid",
};

function accessOf(id: string, metadata: object = {}): ClusterAccess {
  const creationTimestamp = new Date(RESTORED_AT).toISOString();
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "ClusterAccess",
    metadata: { name: id, namespace: "org", labels: { [LABEL_ID]: id }, creationTimestamp, ...metadata },
    spec: { clusterName: "demo", subject: "ann", ttlSeconds: 604_800, csr: "csr" },
  };
}

const ENDING = { deletionTimestamp: new Date(RESTORED_AT).toISOString() };

/** Whether the rights by these names stay, so many minutes after the Cluster was created. */
function keeps(names: readonly string[], createdAt: number, minutes: number): boolean[] {
  const { cluster } = aCluster().observed;
  const metadata = {
    ...cluster.metadata,
    labels: { [LABEL_ID]: ID },
    creationTimestamp: new Date(createdAt).toISOString(),
  };
  const { isKept } = decideBindings(
    { ...cluster, metadata },
    BASIS,
    [accessOf("there"), accessOf("ending", ENDING)],
    new Date(createdAt + minutes * MINUTE_MS),
  );
  return names.map(isKept);
}

const WAIT = RESTORE_WAIT_MS / MINUTE_MS;

test.each<[string, string[], number, number, boolean]>([
  ["an access that is there", nameAccessRights("there"), RESTORED_AT, 1, true],
  ["one that may not be restored yet", nameAccessRights("later"), RESTORED_AT, 1, true],
  ["one that is deleted", nameAccessRights("ending"), RESTORED_AT, 1, false],
  ["one that was not restored within the wait", nameAccessRights("later"), RESTORED_AT, WAIT, false],
  ["one without an object, in a cluster that was not restored", nameAccessRights("later"), MADE_AT, 1, false],
  ["the former generation", [`cloud.marina.dev:admin:${ID}:1`], RESTORED_AT, 1, false],
  ["this generation", [`cloud.marina.dev:admin:${ID}:2`, "cloud-marina-dev-admin-2"], RESTORED_AT, 1, true],
])("the right of %s", (_, names, createdAt, minutes, isKept) => {
  expect(keeps(names, createdAt, minutes)).toEqual(names.map(() => isKept));
});

test.each([
  ["is confirmed", "known uid", true, true],
  ["waits for its confirmation", undefined, false, true],
  ["was refused, because it was revoked before", "refused", false, false],
])("an access that came back from a backup and %s: its binding", (_, confirmation, isBound, isLeft) => {
  const annotations = confirmation === undefined ? {} : { [ANNOTATION_IDENTITY]: confirmation };
  const restored = {
    ...accessOf(ID, { uid: "uid", annotations }),
    status: { certificate: "certificate" },
  };
  const { cluster } = aCluster().observed;
  const { desired, isKept } = decideBindings(cluster, BASIS, [restored], new Date(RESTORED_AT));
  expect(desired).toHaveLength(isBound ? 2 : 1);
  expect(nameAccessRights(ID).map(isKept)).toEqual([isLeft, isLeft]);
});
