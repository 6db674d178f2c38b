import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { findCondition } from "../../shared/controller/conditions.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { ANNOTATION_IDENTITY, LABEL_ID, LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { idleClusterSpec, nodePoolSpec, openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import type { Kind } from "../../shared/kube/kind.ts";
import { createId } from "../../shared/program/id.ts";

const TEST = { fieldManager: "test" };

let api: TestApi;
let namespacesMade: string[];
beforeEach(async () => {
  api = await openTestApi();
  namespacesMade = [];
});
afterEach(async () => {
  await Promise.all(namespacesMade.map((name) => api.client.delete(namespaceKind, undefined, name)));
  await api.close();
});

/** A Namespace of this organization, which the operator of the stack serves. */
async function createNamespaceOf(organization: string): Promise<string> {
  const name = `crd-${randomUUID().slice(0, 8)}`;
  await api.client.create(
    namespaceKind,
    { metadata: { name, labels: { [LABEL_ORG_ID]: organization } } },
    TEST,
  );
  namespacesMade.push(name);
  return name;
}

/** The one of these objects that is Stalled for this reason, once the operator has looked at it. */
function waitForStalled<T extends Cluster | NodePool>(reason: string, read: () => Promise<T[]>): Promise<T> {
  return waitFor(`one to be Stalled for ${reason}`, async () =>
    (await read()).find(({ status }) => findCondition(status?.conditions, "Stalled")?.reason === reason),
  );
}

test("a cluster in the younger of two Namespaces of one organization is taken in soon after the older one is gone", async () => {
  const { client } = api;
  const organization = randomUUID();
  const namespaces = [await createNamespaceOf(organization), await createNamespaceOf(organization)];
  for (const namespace of namespaces) {
    const metadata = { namespace, name: `demo-${randomUUID().slice(0, 8)}` };
    await client.create(clusterKind, { metadata, spec: idleClusterSpec }, TEST);
  }
  const read = (namespace = "") => client.listAll(clusterKind, { namespace });
  const younger = await waitForStalled("DuplicateOrganization", async () =>
    (await Promise.all(namespaces.map(read))).flat(),
  );
  const own = younger.metadata.namespace;
  await client.delete(namespaceKind, undefined, namespaces.find((name) => name !== own) ?? "");
  await expect.poll(async () => (await read(own))[0]?.status?.id).toBeDefined();
});

test.each([
  ["cluster", clusterKind, idleClusterSpec],
  ["node pool", nodePoolKind, nodePoolSpec],
] as const)(
  "a %s with the id of an older one is taken in soon after that is gone",
  async (_what, given, spec) => {
    const { client } = api;
    const kind = given as Kind<Cluster | NodePool>;
    const namespace = await createNamespaceOf(randomUUID());
    const labels = { [LABEL_ID]: createId() };
    const annotations = { [ANNOTATION_IDENTITY]: "new" };
    const names = ["one", "two"].map((name) => `${name}-${randomUUID().slice(0, 8)}`);
    for (const name of names) {
      const object = { metadata: { namespace, name, labels, annotations }, spec };
      await client.create(kind, object as never, TEST);
    }
    const { metadata } = await waitForStalled("DuplicateID", () => client.listAll(kind, { namespace }));
    await client.delete(kind, namespace, names.find((name) => name !== metadata.name) ?? "");
    const readStatus = async () => (await client.get(kind, namespace, metadata.name))?.status;
    await expect.poll(async () => (await readStatus())?.id).toBe(labels[LABEL_ID]);
  },
);
