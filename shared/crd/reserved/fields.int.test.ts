import { beforeAll, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../program/id.ts";
import {
  ANNOTATION_DELETE_MISSING_POOLS,
  ANNOTATION_HOLD,
  ANNOTATION_IDENTITY,
  ANNOTATION_RECREATE,
  ANNOTATION_RELEASE,
  ANNOTATION_REPLACE_PREFIX,
  FINALIZER,
  LABEL_API_TOKEN_ID,
  LABEL_API_TOKEN_VERSION,
  LABEL_ATTEMPT_ID,
  LABEL_CLUSTER_ID,
  LABEL_REGISTRATION,
  LABEL_USER_ID,
} from "../names.ts";
import { openWorld } from "./testing.ts";
import {
  type Attempt,
  apply,
  create,
  expectAnswer,
  jsonPatch,
  make,
  merge,
  remove,
  replace,
  update,
} from "./testing-attempts.ts";

const USER = createId();
const HOLDER = {
  [LABEL_USER_ID]: USER,
  [LABEL_API_TOKEN_ID]: createId(),
  [LABEL_API_TOKEN_VERSION]: "1",
  [LABEL_ATTEMPT_ID]: createId(),
  [LABEL_CLUSTER_ID]: createId(),
};
/** The operator deletes an access with it whose cluster asks for no registration. */
const REGISTRATION = { [LABEL_REGISTRATION]: "fluxSecret" };
const REPLACE = `${ANNOTATION_REPLACE_PREFIX}node-1`;

const world = setUp(openWorld);

beforeAll(async () => {
  await make(world, "clusters/shop", { spec: { credentialsGeneration: 3 } });
  await make(world, "clusters/plain", {});
  await make(world, "clusters/quiet", { spec: { suspend: true } });
  await make(world, "clusters/registered", { spec: { registration: { fluxSecret: true } } });
  await make(world, "clusters/held", { annotations: { [ANNOTATION_HOLD]: "an investigation" } });
  await make(world, "nodepools/web", {});
  await make(world, "nodepools/worn", { annotations: { [REPLACE]: "request-1" } });
  // The operator deletes an access that has expired.
  const spec = { ttlSeconds: 604_800 };
  await make(world, "clusteraccesses/jane", { labels: HOLDER, finalizers: [FINALIZER], spec });
  const confirmed = { annotations: { [ANNOTATION_IDENTITY]: "refused" }, finalizers: [FINALIZER], spec };
  await make(world, "clusteraccesses/joe", confirmed);
});

const annotate = (name: string, value: string | null) => ({ metadata: { annotations: { [name]: value } } });
const suspend = (value: boolean | null) => ({ spec: { suspend: value } });
const generation = (value: number | null) => ({ spec: { credentialsGeneration: value } });

const SUSPEND = "spec.suspend is set by the platform";
const CREDENTIALS = "spec.credentialsGeneration is raised by Marina";
const BY_ONE = "can only increase by one at a time, and cannot be removed";

const suspension: Attempt[] = [
  ["gitops", "suspends a cluster", merge("clusters/plain", suspend(true)), SUSPEND],
  [
    "gitops",
    "suspends a cluster by a JSON patch",
    jsonPatch("clusters/plain", { op: "add", path: "/spec/suspend", value: true }),
    SUSPEND,
  ],
  ["gitops", "creates a suspended cluster", create("clusters", {}, { suspend: true }), SUSPEND],
  ["gitops", "applies a suspended cluster", apply("clusters/plain", {}, { suspend: true }), SUSPEND],
  ["gitops", "resumes a cluster", merge("clusters/quiet", suspend(false)), SUSPEND],
  ["gitops", "removes a suspension", merge("clusters/quiet", suspend(null)), SUSPEND],
  [
    "gitops",
    "replaces a suspended cluster by one that is not",
    replace("clusters/quiet", {}, { suspend: undefined }),
    SUSPEND,
  ],
  ["neighbour", "suspends a cluster", merge("clusters/plain", suspend(true)), SUSPEND],
  ["gitops", "says what is so", merge("clusters/plain", suspend(false))],
  ["gitops", "changes a suspended cluster", merge("clusters/quiet", { spec: { displayName: "Mine" } })],
  ["gitops", "applies a suspended cluster without the field", apply("clusters/quiet")],
  ["gitops", "deletes a suspended cluster", remove("clusters/quiet")],
  ...(["engineer", "breakGlass", "apiserver"] as const).flatMap((who): Attempt[] => [
    [who, "suspends a cluster", merge("clusters/plain", suspend(true))],
    [who, "resumes a cluster", merge("clusters/quiet", suspend(null))],
  ]),
  ["restore", "creates a suspended cluster", create("clusters", {}, { suspend: true })],
];

const machines = (controlPlaneReplicas: number | null) => ({ spec: { controlPlaneReplicas } });
const REPLICAS = "spec.controlPlaneReplicas is set by the platform";

/** The control plane costs the same, whatever the number of its machines. */
const controlPlanes: Attempt[] = [
  ["gitops", "has more machines of a control plane", merge("clusters/plain", machines(5)), REPLICAS],
  ["gitops", "creates a cluster with as many", create("clusters", {}, { controlPlaneReplicas: 3 }), REPLICAS],
  ["neighbour", "has more of them", merge("clusters/plain", machines(3)), REPLICAS],
  ["gitops", "says that none are set", merge("clusters/plain", machines(null))],
  ["restore", "creates a cluster with them", create("clusters", {}, { controlPlaneReplicas: 3 })],
  ...(["engineer", "breakGlass"] as const).map(
    (who): Attempt => [who, "sets their number", merge("clusters/plain", machines(3))],
  ),
];

const register = (parts: object | null) => ({ spec: { registration: parts } });
const HANDS_OUT = "spec.registration hands out credentials of the cluster";

const registration: Attempt[] = [
  ["gitops", "registers a cluster", merge("clusters/plain", register({ fluxSecret: true })), HANDS_OUT],
  ["gitops", "creates a registered cluster", create("clusters", {}, { registration: {} }), HANDS_OUT],
  ["gitops", "asks for more", merge("clusters/registered", register({ argoCDSecret: true })), HANDS_OUT],
  ["gitops", "ends a registration", merge("clusters/registered", register(null)), HANDS_OUT],
  [
    "gitops",
    "replaces it without",
    replace("clusters/registered", {}, { registration: undefined }),
    HANDS_OUT,
  ],
  ["gitops", "says what is so", merge("clusters/registered", register({ fluxSecret: true }))],
  ["gitops", "applies a registered cluster without the field", apply("clusters/registered")],
  ...(["engineer", "breakGlass"] as const).flatMap((who): Attempt[] => [
    [who, "registers a cluster", merge("clusters/plain", register({ argoCDSecret: true }))],
    [who, "ends a registration", merge("clusters/registered", register(null))],
  ]),
  ["restore", "creates a registered cluster", create("clusters", {}, { registration: { fluxSecret: true } })],
];

const credentials: Attempt[] = [
  ["gitops", "raises the generation by one", merge("clusters/shop", generation(4)), CREDENTIALS],
  ["gitops", "raises it to the last one", merge("clusters/shop", generation(2_147_483_647)), BY_ONE],
  ["gitops", "sets it on a cluster without", merge("clusters/plain", generation(1)), CREDENTIALS],
  [
    "gitops",
    "creates a cluster with the last one",
    create("clusters", {}, { credentialsGeneration: 2_147_483_647 }),
    "of a new cluster is 0",
  ],
  ["engineer", "raises the generation by one", merge("clusters/shop", generation(4)), CREDENTIALS],
  [
    "gitops",
    "replaces it with the one before",
    replace("clusters/shop", {}, { credentialsGeneration: 2 }),
    BY_ONE,
  ],
  ["gitops", "removes it", merge("clusters/shop", generation(null)), BY_ONE],
  ["apiserver", "raises it by two", merge("clusters/shop", generation(5)), BY_ONE],
  ["gitops", "creates a cluster of generation 0", create("clusters", {}, { credentialsGeneration: 0 })],
  ["gitops", "says what is so", merge("clusters/shop", generation(3))],
  [
    "restore",
    "creates a cluster of a higher generation",
    create("clusters", {}, { credentialsGeneration: 7 }),
  ],
  ["apiserver", "raises it by one", merge("clusters/shop", generation(4))],
  ["breakGlass", "raises it by one", merge("clusters/shop", generation(4))],
];

const REPLACES = "replaces a node, which the platform's engineers do";
const DECIDES = "decide about infrastructure, which the platform's engineers do";
const HOLD = `[${ANNOTATION_HOLD}] is set by the platform`;
const HELD = "the platform holds this cluster: an investigation; it cannot be deleted";

const annotations: Attempt[] = [
  ["gitops", "has a node replaced", merge("nodepools/web", annotate(REPLACE, "me")), REPLACES],
  [
    "gitops",
    "creates a pool with a replacement",
    create("nodepools", { annotations: { [REPLACE]: "me" } }),
    REPLACES,
  ],
  ["gitops", "changes a replacement", merge("nodepools/worn", annotate(REPLACE, "me")), REPLACES],
  ["gitops", "replaces a pool without its replacement", replace("nodepools/worn")],
  ["engineer", "has a node replaced", merge("nodepools/web", annotate(REPLACE, "me"))],
  ["breakGlass", "has a node replaced", merge("nodepools/web", annotate(REPLACE, "me"))],
  ["restore", "creates a pool with a replacement", create("nodepools", { annotations: { [REPLACE]: "me" } })],
  ...[ANNOTATION_RECREATE, ANNOTATION_RELEASE, ANNOTATION_DELETE_MISSING_POOLS].flatMap((name): Attempt[] => [
    ["gitops", `sets ${name}`, merge("clusters/plain", annotate(name, "true")), DECIDES],
    ["gitops", `applies ${name}`, apply("clusters/new", { annotations: { [name]: "true" } }), DECIDES],
    ["engineer", `sets ${name}`, merge("clusters/plain", annotate(name, "true"))],
    ["breakGlass", `sets ${name}`, merge("clusters/plain", annotate(name, "true"))],
  ]),
  ["gitops", "holds a cluster", merge("clusters/plain", annotate(ANNOTATION_HOLD, "mine")), HOLD],
  ["gitops", "changes a hold", merge("clusters/held", annotate(ANNOTATION_HOLD, "mine")), HOLD],
  ["gitops", "removes a hold", merge("clusters/held", annotate(ANNOTATION_HOLD, null)), HOLD],
  ["gitops", "replaces a held cluster by one that is not", replace("clusters/held"), HOLD],
  ...(["gitops", "engineer", "apiserver", "operator", "breakGlass", "admin"] as const).map(
    (who): Attempt => [
      who,
      "deletes a held cluster",
      remove("clusters/held", who === "gitops" ? "Orphan" : "Foreground"),
      who === "operator" ? "cannot delete" : HELD,
    ],
  ),
  ["engineer", "holds a cluster", merge("clusters/plain", annotate(ANNOTATION_HOLD, "why"))],
  ["engineer", "removes a hold", merge("clusters/held", annotate(ANNOTATION_HOLD, null))],
  ["breakGlass", "removes a hold", merge("clusters/held", annotate(ANNOTATION_HOLD, null))],
  ["restore", "creates a held cluster", create("clusters", { annotations: { [ANNOTATION_HOLD]: "why" } })],
];

const WHOSE = "say whose access it is, by which it is revoked";
const CONFIRMED = "says whether Marina has confirmed whose access it is: leave it as it is";

const accesses: Attempt[] = [
  ...(["engineer", "breakGlass", "restore", "admin"] as const).flatMap((who): Attempt[] => [
    [
      who,
      "removes an access's confirmation",
      merge("clusteraccesses/joe", annotate(ANNOTATION_IDENTITY, null)),
      CONFIRMED,
    ],
    [
      who,
      "removes all annotations of an access",
      jsonPatch("clusteraccesses/joe", { op: "remove", path: "/metadata/annotations" }),
      CONFIRMED,
    ],
  ]),
  ["engineer", "replaces an access without its confirmation", replace("clusteraccesses/joe"), CONFIRMED],
  [
    "engineer",
    "changes an access's confirmation",
    merge("clusteraccesses/joe", annotate(ANNOTATION_IDENTITY, "known")),
    "are set by Marina alone",
  ],
  [
    "operator",
    "removes an access's confirmation",
    merge("clusteraccesses/joe", annotate(ANNOTATION_IDENTITY, null)),
  ],
  ...Object.keys({ ...HOLDER, ...REGISTRATION }).map(
    (name): Attempt => [
      "engineer",
      `creates an access with ${name}`,
      create("clusteraccesses", { labels: { [name]: USER } }),
      WHOSE,
    ],
  ),
  ...Object.keys(HOLDER).map(
    (name): Attempt => [
      "engineer",
      `removes ${name}`,
      merge("clusteraccesses/jane", { metadata: { labels: { [name]: null } } }),
      WHOSE,
    ],
  ),
  [
    "engineer",
    "makes an access one of a registration",
    merge("clusteraccesses/jane", { metadata: { labels: REGISTRATION } }),
    WHOSE,
  ],
  [
    "engineer",
    "changes the user of an access",
    merge("clusteraccesses/jane", { metadata: { labels: { [LABEL_USER_ID]: createId() } } }),
    WHOSE,
  ],
  ["engineer", "replaces an access without its labels", replace("clusteraccesses/jane"), WHOSE],
  [
    "engineer",
    "grants an access to a user of Marina",
    create("clusteraccesses", {}, { subject: USER }),
    "must not be the id of a user of Marina",
  ],
  [
    "engineer",
    "grants it in other letters",
    create("clusteraccesses", {}, { subject: USER.toUpperCase() }),
    "must not be the id of a user of Marina",
  ],
  ["engineer", "grants an access to somebody else", create("clusteraccesses")],
  ["engineer", "deletes an access", remove("clusteraccesses/jane")],
  ...(["apiserver", "restore"] as const).map((who): Attempt => {
    return [who, "creates one of a user", create("clusteraccesses", { labels: HOLDER }, { subject: USER })];
  }),
  ["gitops", "deletes an access", remove("clusteraccesses/jane"), "attack:gitops"],
  [
    "engineer",
    "leaves the finalizer out of a living access",
    update("clusteraccesses/jane", { metadata: { finalizers: [] } }),
  ],
];

test.each([...suspension, ...controlPlanes, ...registration, ...credentials, ...annotations, ...accesses])(
  "%s %s",
  (...attempt) => expectAnswer(world, attempt),
);
