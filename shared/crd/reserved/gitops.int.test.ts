import { beforeAll, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../program/id.ts";
import {
  ANNOTATION_AUTHORIZED_CIDRS,
  ANNOTATION_DELETE_MISSING_POOLS,
  ANNOTATION_HOLD,
  ANNOTATION_IDENTITY,
  ANNOTATION_NETWORK_REQUEST_ID,
  ANNOTATION_RECREATE,
  ANNOTATION_RELEASE,
  ANNOTATION_REPLACE_PREFIX,
  ANNOTATION_REQUEST_ID,
  ANNOTATION_UPGRADE_FORCE,
  FINALIZER,
  GROUP,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../names.ts";
import { openWorld } from "./testing.ts";
import {
  type Attempt,
  composeObject,
  create,
  expectAnswer,
  make,
  merge,
  remove,
} from "./testing-attempts.ts";
import {
  annotation,
  apis,
  CAPI,
  CORE,
  fixed,
  label,
  inNamespace as own,
  POLICIES,
  RBAC,
  type Reach,
  type ReservedField,
  requestOf,
  writesOf,
} from "./testing-tables.ts";

const ID = createId();

const world = setUp(openWorld);

/** What the role `marina-gitops` reaches in its Namespace, and an access, which it does not reach. */
beforeAll(async () => {
  await make(world, "clusters/bare", {});
  await make(world, "nodepools/bare", {});
  await make(world, "clusters/kept", { spec: { deletionProtection: true } });
  await make(world, "clusteraccesses/jane", { finalizers: [FINALIZER], spec: { ttlSeconds: 604_800 } });
});

const GIVEN = "are given by Marina: leave them out";
const MARKS = "are set by Marina alone: leave them out";
const DECIDES = "decide about infrastructure, which the platform's engineers do";

/** What is reserved of the kinds that a pipeline writes, and the answer; the second one to a create, where it differs. */
const FIELDS: readonly ReservedField[] = [
  ...["clusters", "nodepools"].flatMap((resource): ReservedField[] => [
    [resource, LABEL_ID, label(LABEL_ID, createId()), GIVEN],
    [resource, LABEL_ORG_ID, label(LABEL_ORG_ID, createId()), GIVEN],
    [resource, ANNOTATION_REQUEST_ID, annotation(ANNOTATION_REQUEST_ID), MARKS],
    [resource, ANNOTATION_NETWORK_REQUEST_ID, annotation(ANNOTATION_NETWORK_REQUEST_ID), MARKS],
    [resource, ANNOTATION_IDENTITY, annotation(ANNOTATION_IDENTITY, "known"), MARKS],
    [resource, ANNOTATION_AUTHORIZED_CIDRS, annotation(ANNOTATION_AUTHORIZED_CIDRS, "[]"), MARKS],
  ]),
  ["clusters", "spec.suspend", { spec: { suspend: true } }, "spec.suspend is set by the platform"],
  [
    "clusters",
    "spec.controlPlaneReplicas",
    { spec: { controlPlaneReplicas: 5 } },
    "spec.controlPlaneReplicas is set by the platform",
  ],
  [
    "clusters",
    "spec.credentialsGeneration",
    { spec: { credentialsGeneration: 1 } },
    "spec.credentialsGeneration is raised by Marina",
    "spec.credentialsGeneration of a new cluster is 0",
  ],
  ["clusters", ANNOTATION_RECREATE, annotation(ANNOTATION_RECREATE), DECIDES],
  ["clusters", ANNOTATION_RELEASE, annotation(ANNOTATION_RELEASE), DECIDES],
  ["clusters", ANNOTATION_DELETE_MISSING_POOLS, annotation(ANNOTATION_DELETE_MISSING_POOLS), DECIDES],
  ["clusters", ANNOTATION_HOLD, annotation(ANNOTATION_HOLD), `[${ANNOTATION_HOLD}] is set by the platform`],
  [
    "clusters",
    ANNOTATION_UPGRADE_FORCE,
    annotation(ANNOTATION_UPGRADE_FORCE, "1.35.1 a test"),
    `[${ANNOTATION_UPGRADE_FORCE}] upgrades a cluster whatever checks find`,
  ],
  [
    "nodepools",
    `${ANNOTATION_REPLACE_PREFIX}<node>`,
    annotation(`${ANNOTATION_REPLACE_PREFIX}node-1`),
    "replaces a node, which the platform's engineers do",
  ],
];

const writes = FIELDS.flatMap((field) => writesOf("gitops", field));

/** Requests of which the role allows none, whatever their body. */
const BEYOND: readonly Reach[] = [
  // Other Namespaces, and all of them.
  ["GET", fixed(`${apis(GROUP)}/clusters`)],
  ["GET", fixed(`${apis(GROUP)}/nodepools`)],
  ...(["clusters", "nodepools"] as const).flatMap((resource): Reach[] => [
    ["GET", fixed(`${apis(GROUP)}/namespaces/default/${resource}`)],
    ["POST", fixed(`${apis(GROUP)}/namespaces/default/${resource}`)],
    ["PATCH", fixed(`${apis(GROUP)}/namespaces/default/${resource}/shop`)],
    ["PUT", fixed(`${apis(GROUP)}/namespaces/default/${resource}/shop`)],
    ["DELETE", fixed(`${apis(GROUP)}/namespaces/default/${resource}/shop`)],
    // A whole collection, and parts of an object.
    ["DELETE", own(apis(GROUP), resource)],
    ["GET", own(apis(GROUP), `${resource}/bare/status`)],
    ["PATCH", own(apis(GROUP), `${resource}/bare/status`)],
    ["PUT", own(apis(GROUP), `${resource}/bare/status`)],
    ["PATCH", own(apis(GROUP), `${resource}/bare/finalizers`)],
    // The rights for which the policy asks are no parts of an object.
    ["PATCH", own(apis(GROUP), `${resource}/bare/identity`)],
    ["PUT", own(apis(GROUP), `${resource}/bare/finalizer`)],
  ]),
  ["PATCH", own(apis(GROUP), "clusters/bare/scale")],
  // The other kinds of Marina.
  ...["clusteraccesses", "storageinventories"].flatMap((resource): Reach[] => [
    ["GET", own(apis(GROUP), resource)],
    ["POST", own(apis(GROUP), resource)],
    ["PATCH", own(apis(GROUP), `${resource}/jane`)],
    ["DELETE", own(apis(GROUP), `${resource}/jane`)],
    ["DELETE", own(apis(GROUP), resource)],
  ]),
  // What runs the clusters.
  ...["clusters", "machinedeployments", "machines", "machinehealthchecks"].flatMap((resource): Reach[] => [
    ["GET", own(CAPI, resource)],
    ["POST", own(CAPI, resource)],
    ["PATCH", own(CAPI, `${resource}/shop`)],
    ["DELETE", own(CAPI, `${resource}/shop`)],
  ]),
  ["PATCH", own(CAPI, "machinedeployments/shop/scale")],
  // Credentials, programs and rights.
  ...["secrets", "configmaps", "serviceaccounts", "pods"].flatMap((resource): Reach[] => [
    ["GET", own(CORE, resource)],
    ["POST", own(CORE, resource)],
    ["PATCH", own(CORE, `${resource}/any`)],
    ["DELETE", own(CORE, `${resource}/any`)],
  ]),
  ["POST", own(CORE, "serviceaccounts/default/token")],
  ["POST", own(CORE, "pods/any/eviction")],
  ["POST", own(CORE, "pods/any/exec")],
  ["POST", own(apis("apps"), "deployments")],
  ["POST", own(RBAC, "roles")],
  ["POST", own(RBAC, "rolebindings")],
  ["PATCH", own(RBAC, "rolebindings/attack-gitops")],
  ["POST", fixed(`${RBAC}/clusterrolebindings`)],
  ["PATCH", fixed(`${RBAC}/clusterroles/marina-gitops`)],
  // Limits and rules.
  ["PATCH", own(CORE, "resourcequotas/marina-objects")],
  ["DELETE", own(CORE, "resourcequotas/marina-objects")],
  ["POST", own(CORE, "events")],
  ["DELETE", own(CORE, "events")],
  ["PATCH", (namespace) => `${CORE}/namespaces/${namespace}`],
  ["DELETE", (namespace) => `${CORE}/namespaces/${namespace}`],
  ["PATCH", fixed(`${POLICIES}/reserved.${GROUP}`)],
  ["DELETE", fixed(`${POLICIES}/reserved.${GROUP}`)],
  ["PATCH", fixed(`${apis("apiextensions.k8s.io")}/customresourcedefinitions/clusters.${GROUP}`)],
];

const reaches = BEYOND.map((reach) => requestOf("gitops", reach));

const owner = { apiVersion: "v1", kind: "ConfigMap", name: "any", uid: createId() };
const OWN_MANAGER = "begins with marina- are Marina's own";
const FIXED = "field is immutable";
const PAST = "2020-01-01T00:00:00Z";
const scale = (replicas: number, sender = {}) =>
  merge("nodepools/bare/scale", { spec: { replicas } }, sender);
const change = (metadata: Record<string, unknown>) => merge("clusters/bare", { metadata });

const others: Attempt[] = [
  ["gitops", "scales as the operator", scale(2, { manager: "marina-operator" }), OWN_MANAGER],
  ["gitops", "scales beyond what a pool may have", scale(1001), "1000"],
  ["gitops", "scales below nothing", scale(-1), "greater than or equal to 0"],
  [
    "gitops",
    "moves a pool to another cluster",
    merge("nodepools/bare", { spec: { clusterName: "other" } }),
    "cannot be changed",
  ],
  [
    "gitops",
    "labels nodes with a name of Marina",
    merge("nodepools/bare", { spec: { nodeLabels: { [`${GROUP}/x`]: "1" } } }),
    GROUP,
  ],
  ["gitops", "gives an object the uid of another", change({ uid: createId() }), FIXED],
  ["gitops", "says that an object is being deleted", change({ deletionTimestamp: PAST }), FIXED],
  ["gitops", "lets an object of another kind own a cluster", change({ ownerReferences: [owner] })],
  ["gitops", "keeps a cluster by a finalizer of its own", change({ finalizers: ["example.com/keep"] })],
  ["gitops", "deletes a cluster and orphans what it has", remove("clusters/bare", "Orphan")],
  // The protection excepts Marina's programs by their whole names.
  ...(["gitops", "namesake", "neighbour"] as const).map(
    (who): Attempt => [
      who,
      "deletes what is protected",
      remove("clusters/kept"),
      "is protected from deletion",
    ],
  ),
];

test.each([...writes, ...reaches, ...others])("%s %s", (...attempt) => expectAnswer(world, attempt));

describe("what only the Kubernetes API or the operator writes is not taken from a pipeline", () => {
  const status = { id: ID, observedGeneration: 7, firstReadyAt: PAST };

  test.each(["clusters", "nodepools"])("in a create of one of the %s", async (resource) => {
    const forged = { creationTimestamp: PAST, deletionTimestamp: PAST, generation: 7, uid: ID };
    const { body } = await world.send("gitops", {
      ...create(resource)(world),
      body: { ...composeObject(resource, "new", forged), status },
    });
    expect(body.metadata).toMatchObject({ name: "new", generation: 1 });
    expect(body.metadata.creationTimestamp).not.toBe(PAST);
    expect(body.metadata.uid).not.toBe(ID);
    expect(body.metadata.deletionTimestamp).toBeUndefined();
    expect(body.status).toEqual({ observedGeneration: -1 });
  });

  test.each(["clusters", "nodepools"])("in a change of one of the %s", async (resource) => {
    const request = merge(`${resource}/bare`, {
      metadata: { generation: 7, creationTimestamp: PAST },
      status,
    });
    const { body } = await world.send("gitops", request(world));
    expect(body.message).toBeUndefined();
    expect(body.metadata).toMatchObject({ name: "bare", generation: 1 });
    expect(body.metadata.creationTimestamp).not.toBe(PAST);
    expect(body.status?.id).not.toBe(ID);
    expect(body.status?.firstReadyAt).not.toBe(PAST);
  });
});
