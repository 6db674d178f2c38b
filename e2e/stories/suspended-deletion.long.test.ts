import { afterAll, beforeAll, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import {
  capiClusterKind,
  conditionOf,
  createEngineer,
  type Engineer,
  machineKind,
  waitForCluster,
} from "../testing/custom-resources.ts";
import { createTenant } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const KINDS: Kind<KubeObject>[] = [clusterKind, nodePoolKind, capiClusterKind, machineKind];

let orgId: string;
let engineer: Engineer;
let lone: Engineer;

beforeAll(async () => {
  const { body } = await alice.request("POST", "/organizations", { name: "Suspended and deleted" });
  orgId = body.id;
  engineer = await createEngineer(stack, orgId);
  lone = await createEngineer(stack);
});
afterAll(async () => {
  await engineer?.close();
  await lone?.close();
});

/** A cluster with one node that is suspended, with its pool, once Cluster API has stopped to work on it. */
async function suspendCluster(of: Engineer, name: string): Promise<void> {
  await of.createPool(`${name}-workers`, name, { desiredNodes: 1 });
  await of.createCluster(name, {});
  await waitForCluster(of, name);
  await of.patchCluster(name, { metadata: { labels: { door: name } }, spec: { suspend: true } });
  await waitFor(`${name} to be suspended`, async () => {
    return conditionOf(await of.getCluster(name), "Suspended")?.status === "True";
  });
}

/** What is left of a cluster: its objects, its Cluster API cluster and its machines. */
async function listLeft({ client, namespace }: Engineer, name: string): Promise<string[]> {
  const lists = KINDS.map(async (kind) => {
    const found = await client.listAll(kind, { namespace });
    return found.flatMap(({ metadata }) => {
      return metadata.name.startsWith(name) ? [`${kind.plural}.${kind.group} ${metadata.name}`] : [];
    });
  });
  return (await Promise.all(lists)).flat();
}

const byKubectl = (...flags: string[]) => {
  return async (name: string) => {
    await kubectl(["delete", "mcl", "-n", engineer.namespace, "--wait=false", ...flags, name]);
  };
};

const doors: [string, (name: string) => Promise<unknown>][] = [
  [
    "rest",
    async (name) => {
      const clusters = `/organizations/${orgId}/clusters`;
      const { body } = await alice.request("GET", `${clusters}?name=${name}`);
      const deleted = await alice.request("DELETE", `${clusters}/${body.items[0].id}`);
      expect([deleted.status, deleted.body.status]).toEqual([202, "deleting"]);
    },
  ],
  ["foreground", byKubectl("--cascade=foreground")],
  ["orphan", byKubectl("--cascade=orphan")],
  [
    "collection",
    async (name) => {
      const selector = `door=${name}`;
      await kubectl(["delete", "mcl", "-n", engineer.namespace, "--wait=false", "-l", selector]);
    },
  ],
];

test.concurrent.each(doors)("a suspended cluster is deleted with its machines: %s", async (name, remove) => {
  await suspendCluster(engineer, name);
  expect(await listLeft(engineer, name)).not.toEqual([]);
  await remove(name);
  await waitFor(`nothing to be left of ${name}`, async () => {
    const left = await listLeft(engineer, name);
    if (left.length === 0) return true;
    throw new Error(left.join(", "));
  });
  expect(await listLeft(engineer, name)).toEqual([]);
});

test.concurrent("a suspended cluster is deleted with its Namespace", async () => {
  await suspendCluster(lone, "namespace");
  await lone.client.delete(namespaceKind, undefined, lone.namespace);
  await waitFor("the Namespace to be gone", async () => {
    const left = await listLeft(lone, "namespace");
    const found = await lone.client.get(namespaceKind, undefined, lone.namespace);
    if (found === undefined) return true;
    throw new Error(JSON.stringify([left, found.status]));
  });
  expect(await lone.client.get(namespaceKind, undefined, lone.namespace)).toBeUndefined();
});
