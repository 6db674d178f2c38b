import { describe, expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { ANNOTATION_HOLD } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { MACHINE, projectMachines, replaceKube, serveMachines } from "../node-pools/nodes/testing.ts";
import { startTestApp } from "../testing/app.ts";
import { type Created, createProtected } from "./testing-protection.ts";

const api = setUp(startTestApp);
/** Its requests do not wait for those of the other one. */
const replica = setUp(() => startTestApp({ replicaOf: api }));

/** A finalizer that no controller removes: an object that is deleted stays. */
const HELD = "tests.marina.dev/held";

interface Request {
  /** The object that the request changes. */
  of: "cluster" | "pool";
  method: string;
  path?: string;
  body?: object;
}

const REQUESTS: Record<string, Request> = {
  "PUT of the cluster": { of: "cluster", method: "PUT", body: { name: "Other" } },
  "dry run of a PUT of the cluster": {
    of: "cluster",
    method: "PUT",
    path: "?dry_run=true",
    body: { name: "Other" },
  },
  "DELETE of the cluster": { of: "cluster", method: "DELETE" },
  "PUT of the network policy": {
    of: "cluster",
    method: "PUT",
    path: "/network",
    body: { authorized_cidrs: ["203.0.113.0/24"] },
  },
  "rotation of the credentials": { of: "cluster", method: "POST", path: "/credentials/rotate" },
  "PUT of a node pool": { of: "pool", method: "PUT", body: { desired_nodes: 2, max_nodes: 2 } },
  "PUT of a node pool that changes nothing": { of: "pool", method: "PUT", body: { desired_nodes: 1 } },
  "dry run of a PUT of a node pool": {
    of: "pool",
    method: "PUT",
    path: "?dry_run=true",
    body: { desired_nodes: 2, max_nodes: 2 },
  },
  "DELETE of a node pool": { of: "pool", method: "DELETE" },
  "replacement of a node": { of: "pool", method: "POST", path: "/nodes/node-1/replace" },
};

const DELETIONS = ["DELETE of the cluster", "DELETE of a node pool"];

interface State {
  /** Makes it so while a request is under way. */
  enter: (made: Created) => Promise<unknown>;
  refused: { code: string; requests: readonly string[] };
}

const STATES: Record<string, State> = {
  "is suspended": {
    enter: ({ orgId, known }) =>
      replica.request("PUT", `/api/v1/admin/organizations/${orgId}/clusters/${known.cluster.id}/suspension`, {
        as: "staff",
        body: { suspended: true },
      }),
    refused: {
      code: "conflict",
      requests: Object.keys(REQUESTS).filter((what) => what !== "DELETE of the cluster"),
    },
  },
  "is protected from deletion": {
    async enter({ paths }) {
      const body = { deletion_protection: true };
      for (const path of Object.values(paths)) await replica.request("PUT", path, { body });
    },
    refused: { code: "deletion_protected", requests: DELETIONS },
  },
  "is held by the platform": {
    enter: ({ known: { cluster } }) =>
      api.deps.kube.mergePatch(
        clusterKind,
        cluster.namespace,
        cluster.name,
        { metadata: { annotations: { [ANNOTATION_HOLD]: "an investigation" } } },
        { fieldManager: "marina-apiserver" },
      ),
    refused: { code: "conflict", requests: ["DELETE of the cluster"] },
  },
  "is being deleted": {
    async enter({ known: { cluster, pool } }) {
      await beginDeletion(nodePoolKind, pool);
      await beginDeletion(clusterKind, cluster);
    },
    refused: {
      code: "conflict",
      // What changes nothing has no commit that could come later.
      requests: Object.keys(REQUESTS).filter(
        (what) => !DELETIONS.includes(what) && !what.endsWith("changes nothing"),
      ),
    },
  },
};

/** Deletes an object, which stays until the test ends. */
async function beginDeletion<T extends KubeObject>(
  kind: Kind<T>,
  { namespace, name }: { namespace: string; name: string },
): Promise<void> {
  const { kube } = api.deps;
  const setFinalizers = async (held: string[]) => {
    const others = (await kube.get(kind, namespace, name))?.metadata.finalizers ?? [];
    const finalizers = [...others.filter((finalizer) => finalizer !== HELD), ...held];
    await kube.mergePatch(kind, namespace, name, { metadata: { finalizers } } as never, {
      fieldManager: "test",
    });
  };
  await setFinalizers([HELD]);
  await kube.delete(kind, namespace, name);
  // The operator may remove its own one between the read and the patch.
  onTestFinished(async () => {
    await waitFor("the object to be released", () => setFinalizers([]).then(() => true));
  });
}

/** Calls `meanwhile` once the first read of an object of this kind is made. Returns whether it was. */
function readBefore(kind: unknown, meanwhile: () => Promise<unknown>): () => boolean {
  const { kube } = api.deps;
  let isRead = false;
  const get: KubeClient["get"] = async (of, ...args) => {
    const found = await kube.get(of, ...args);
    if ((of as unknown) === kind && !isRead) {
      isRead = true;
      await meanwhile();
    }
    return found;
  };
  replaceKube(api, { ...kube, get });
  return () => isRead;
}

async function send({ paths }: Created, { of, method, path = "", body }: Request) {
  const response = await api.request(method, `${paths[of]}${path}`, body === undefined ? {} : { body });
  return [response.status, response.body.error?.code];
}

/** Sends a request to a new cluster that gets into a state while the request is under way. */
async function sendWhile(enter: State["enter"], request: Request) {
  const made = await createProtected(api);
  serveMachines(api, () => [MACHINE]);
  await projectMachines(api, made.known.pool, [MACHINE]);
  const entered = readBefore(request.of === "cluster" ? clusterKind : nodePoolKind, () => enter(made));
  const underWay = await send(made, request);
  expect(entered()).toBe(true);
  return { made, underWay };
}

describe.each(Object.entries(STATES))("while it %s", (_state, { enter, refused }) => {
  const isRefused = ([what]: [string, Request]) => refused.requests.includes(what);
  const requests = Object.entries(REQUESTS);

  test.each(requests.filter(isRefused))(
    "a %s is refused as one that comes afterwards",
    async (_, request) => {
      const { made, underWay } = await sendWhile(enter, request);
      expect(underWay).toEqual([409, refused.code]);
      await projectMachines(api, made.known.pool, [MACHINE]);
      expect(await send(made, request)).toEqual(underWay);
    },
  );

  test.each(requests.filter((one) => !isRefused(one)))("a %s is accepted", async (_, request) => {
    const { underWay } = await sendWhile(enter, request);
    expect(underWay).toEqual([expect.toSatisfy((status: number) => status < 300), undefined]);
  });
});
