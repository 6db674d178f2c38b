import { beforeAll, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../program/id.ts";
import {
  ANNOTATION_AUTHORIZED_CIDRS,
  ANNOTATION_HOLD,
  ANNOTATION_IDENTITY,
  ANNOTATION_NETWORK_REQUEST_ID,
  ANNOTATION_REQUEST_ID,
  ANNOTATION_UPGRADE_FORCE,
  FINALIZER,
  GROUP,
  HOLDER_LABELS,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../names.ts";
import { openWorld } from "./testing.ts";
import {
  type Attempt,
  attempt,
  create,
  expectAnswer,
  make,
  merge,
  type Request,
  replace,
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

const world = setUp(openWorld);

/** What the role `marina-engineer` reaches. */
beforeAll(async () => {
  await make(world, "clusters/bare", {});
  await make(world, "nodepools/bare", {});
  await make(world, "clusteraccesses/bare", { finalizers: [FINALIZER] });
});

const GIVEN = "are given by Marina: leave them out";
const MARKS = "are set by Marina alone: leave them out";
const WHOSE = "say whose access it is, by which it is revoked";
const CREDENTIALS = "spec.credentialsGeneration is raised by Marina";
/** The spec of an access never changes, which an apply would do. */
const OF_ACCESSES = [
  "a create",
  "a merge patch",
  "a JSON patch",
  "an update without a named manager",
] as const;

/** What even the platform's engineers may not write: whose an object is, and when a credential ends. */
const FIELDS: readonly ReservedField[] = [
  ...["clusters", "nodepools", "clusteraccesses"].flatMap((resource): ReservedField[] => {
    const ways = resource === "clusteraccesses" ? OF_ACCESSES : undefined;
    return [
      [resource, LABEL_ID, label(LABEL_ID, createId()), GIVEN, GIVEN, ways],
      [resource, LABEL_ORG_ID, label(LABEL_ORG_ID, createId()), GIVEN, GIVEN, ways],
      [resource, ANNOTATION_REQUEST_ID, annotation(ANNOTATION_REQUEST_ID), MARKS, MARKS, ways],
      [
        resource,
        ANNOTATION_NETWORK_REQUEST_ID,
        annotation(ANNOTATION_NETWORK_REQUEST_ID),
        MARKS,
        MARKS,
        ways,
      ],
      [resource, ANNOTATION_IDENTITY, annotation(ANNOTATION_IDENTITY, "known"), MARKS, MARKS, ways],
      [
        resource,
        ANNOTATION_AUTHORIZED_CIDRS,
        annotation(ANNOTATION_AUTHORIZED_CIDRS, "[]"),
        MARKS,
        MARKS,
        ways,
      ],
    ];
  }),
  [
    "clusters",
    "spec.credentialsGeneration",
    { spec: { credentialsGeneration: 1 } },
    CREDENTIALS,
    "spec.credentialsGeneration of a new cluster is 0",
  ],
  ...HOLDER_LABELS.map(
    (name): ReservedField => ["clusteraccesses", name, label(name, "1"), WHOSE, WHOSE, OF_ACCESSES],
  ),
];

const writes = FIELDS.flatMap((field) => writesOf("engineer", field));

/** Requests of which the role allows none, whatever their body. */
const BEYOND: readonly Reach[] = [
  // What only the operator writes.
  ...["clusters", "nodepools", "clusteraccesses", "storageinventories"].flatMap((resource): Reach[] => [
    ["PATCH", own(apis(GROUP), `${resource}/bare/status`)],
    ["PUT", own(apis(GROUP), `${resource}/bare/status`)],
    ["PATCH", own(apis(GROUP), `${resource}/bare/finalizers`)],
    ["PATCH", own(apis(GROUP), `${resource}/bare/identity`)],
    ["DELETE", own(apis(GROUP), resource)],
  ]),
  // What runs the clusters is to be looked at.
  ...[
    "clusters",
    "machinedeployments",
    "machinesets",
    "machines",
    "machinehealthchecks",
    "clusterclasses",
  ].flatMap((resource): Reach[] => [
    ["POST", own(CAPI, resource)],
    ["PATCH", own(CAPI, `${resource}/shop`)],
    ["PUT", own(CAPI, `${resource}/shop`)],
    ["DELETE", own(CAPI, `${resource}/shop`)],
    ["DELETE", own(CAPI, resource)],
  ]),
  ["PATCH", own(CAPI, "machinedeployments/shop/scale")],
  ["PATCH", own(CAPI, "clusters/shop/status")],
  ["PATCH", own(apis("controlplane.cluster.x-k8s.io"), "kubeadmcontrolplanes/shop")],
  ["DELETE", own(apis("infrastructure.cluster.x-k8s.io"), "dockermachines/shop")],
  // Credentials, programs and rights.
  ...["secrets", "configmaps", "serviceaccounts", "pods"].flatMap((resource): Reach[] => [
    ["GET", own(CORE, resource)],
    ["GET", own(CORE, `${resource}/any`)],
    ["POST", own(CORE, resource)],
    ["PATCH", own(CORE, `${resource}/any`)],
    ["DELETE", own(CORE, `${resource}/any`)],
  ]),
  ["GET", fixed(`${CORE}/secrets`)],
  ["GET", fixed(`${CORE}/namespaces/marina-system/secrets`)],
  ["PATCH", fixed(`${CORE}/namespaces/marina-system/configmaps/unrecorded-machines`)],
  ["POST", fixed(`${CORE}/namespaces/marina-system/serviceaccounts/marina-operator/token`)],
  ["POST", own(CORE, "serviceaccounts/default/token")],
  ["POST", own(CORE, "pods/any/exec")],
  ["POST", own(apis("apps"), "deployments")],
  ["POST", own(RBAC, "roles")],
  ["POST", own(RBAC, "rolebindings")],
  ["POST", fixed(`${RBAC}/clusterrolebindings`)],
  ["PATCH", fixed(`${RBAC}/clusterroles/marina-engineer`)],
  // Limits and rules.
  ["PATCH", own(CORE, "resourcequotas/marina-objects")],
  ["DELETE", own(CORE, "events")],
  ["POST", fixed(`${CORE}/namespaces`)],
  ["PATCH", (namespace) => `${CORE}/namespaces/${namespace}`],
  ["DELETE", (namespace) => `${CORE}/namespaces/${namespace}`],
  ["PATCH", fixed(`${POLICIES}/reserved.${GROUP}`)],
  ["DELETE", fixed(`${POLICIES}/reserved.${GROUP}`)],
  ["DELETE", fixed(`${POLICIES.replace("policies", "policybindings")}/reserved.${GROUP}`)],
  ["PATCH", fixed(`${apis("apiextensions.k8s.io")}/customresourcedefinitions/clusters.${GROUP}`)],
];

const others: Attempt[] = [
  [
    "engineer",
    "writes as the operator",
    merge("clusters/bare", { spec: { displayName: "Mine" } }, { manager: "marina-operator" }),
    "begins with marina- are Marina's own",
  ],
  [
    "engineer",
    "grants an access to a user of Marina",
    create("clusteraccesses", {}, { subject: createId() }),
    "must not be the id of a user",
  ],
];

const reaches = BEYOND.map((reach) => requestOf("engineer", reach));

test.each([...writes, ...reaches, ...others])("%s %s", (...row) => expectAnswer(world, row));

test("an engineer sees what a cluster stands on", async () => {
  const resources = ["clusters", "machinedeployments", "machinesets", "machines", "machinehealthchecks"];
  for (const resource of resources) {
    const path = own(CAPI, resource)(world.namespace);
    const { status } = await attempt(world, "engineer", () => ({ method: "GET", path }));
    expect([resource, status]).toEqual([resource, 200]);
  }
});

describe("by one of the clusters that the platform keeps beyond its end", () => {
  const spec = { expiresAt: "2020-01-01T00:00:00Z" };
  const hold = { annotations: { [ANNOTATION_HOLD]: "an investigation" } };
  const noHold = { annotations: { [ANNOTATION_HOLD]: null } };
  const forced = { annotations: { [ANNOTATION_UPGRADE_FORCE]: "1.35.1 a test" } };
  const withoutEnd = { expiresAt: null };
  const HOLD_LIFTED = `lifting metadata.annotations[${ANNOTATION_HOLD}] before spec.expiresAt has the cluster`;
  const RESUMED = "lifting spec.suspend before spec.expiresAt has the cluster";
  const lifting: [what: string, request: Request, refused: string][] = [
    ["lifts its hold", merge("clusters/held", { metadata: noHold }), HOLD_LIFTED],
    ["replaces it without its hold", replace("clusters/held"), HOLD_LIFTED],
    ["resumes it", merge("clusters/suspended", { spec: { suspend: false } }), RESUMED],
    ["removes its suspension", merge("clusters/suspended", { spec: { suspend: null } }), RESUMED],
  ];
  const free: [what: string, request: Request][] = [
    ["lifts its hold and removes its end", merge("clusters/held", { metadata: noHold, spec: withoutEnd })],
    ["changes its hold", merge("clusters/held", { metadata: { annotations: { [ANNOTATION_HOLD]: "b" } } })],
    ["lifts the hold of one without an end", merge("clusters/held-endless", { metadata: noHold })],
    [
      "resumes it and removes its end",
      merge("clusters/suspended", { spec: { suspend: false, ...withoutEnd } }),
    ],
    ["holds it", merge("clusters/suspended", { metadata: hold })],
  ];

  beforeAll(async () => {
    await make(world, "clusters/held", { ...hold, spec });
    await make(world, "clusters/held-endless", hold);
    await make(world, "clusters/suspended", { spec: { ...spec, suspend: true } });
  });

  test.each<Attempt>([
    ...lifting.flatMap(([what, request, refused]): Attempt[] => [
      ["restore", what, request, refused],
      ...(["engineer", "breakGlass"] as const).map((who): Attempt => [who, what, request]),
    ]),
    ["apiserver", "lifts its hold", merge("clusters/held", { metadata: noHold })],
    ["engineer", "forces its upgrade", merge("clusters/held", { metadata: forced })],
    ["apiserver", "resumes it", merge("clusters/suspended", { spec: { suspend: false } })],
    ...free.map(([what, request]): Attempt => ["restore", what, request]),
  ])("%s %s", (...one) => expectAnswer(world, one));
});
