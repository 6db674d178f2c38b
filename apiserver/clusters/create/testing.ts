import { createId } from "../../../shared/program/id.ts";
import type { Deps } from "../../deps.ts";
import type { Author } from "../../http/authentication/principal.ts";
import { asAuthorized } from "../../http/contract/caller.ts";
import { createObjectName } from "../../resources/write/index.ts";
import type { TestApp } from "../../testing/app.ts";
import { makePrincipal } from "../../testing/membership.ts";
import { createCluster, type NewCluster } from "./create-cluster.ts";

/** Who makes the requests. */
export const author: Author = {
  principal: makePrincipal("0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11"),
  requestId: "request-1",
  sourceAddress: undefined,
};

/** Creates it as `author`, whose right is never confirmed. */
export async function create(deps: Deps, request: NewCluster) {
  return (await createCluster(deps, asAuthorized(author), request, { dryRun: false, details: [] })).projected;
}

/** A request for a cluster with one pool of one node. */
export function aCreateRequest(orgId: string, name: string): NewCluster {
  const objectName = createObjectName(name, "cluster");
  const pool = {
    clusterName: objectName,
    displayName: "general",
    vcpus: 2,
    memoryGB: 4,
    diskGB: 20,
    minNodes: 1,
    maxNodes: 1,
    desiredNodes: 1,
  };
  return {
    orgId,
    namespace: `org-${orgId}`,
    clusterId: createId(),
    objectName,
    requestId: author.requestId,
    spec: { displayName: name, version: "1.34.2", plan: "scale", publicEndpoint: true },
    nodePools: [{ id: createId(), objectName: createObjectName("general", "pool"), spec: pool }],
  };
}

type Verb = "get" | "jsonPatch" | "mergePatch" | "delete";

/** A replica with `meanwhile` right before its first call of this kind. */
export function racing(app: Pick<TestApp, "deps">, verb: Verb, meanwhile: () => Promise<unknown>): Deps {
  const { kube } = app.deps;
  let first = true;
  // biome-ignore lint/suspicious/noExplicitAny: the arguments of each verb
  const raced = async (...args: any[]) => {
    if (first) {
      first = false;
      await meanwhile();
    }
    // biome-ignore lint/suspicious/noExplicitAny: the same ones
    return (kube[verb] as any)(...args);
  };
  return { ...app.deps, kube: { ...kube, [verb]: raced } };
}
