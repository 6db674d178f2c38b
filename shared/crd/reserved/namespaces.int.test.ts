import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import {
  ANNOTATION_ALLOWED_REGISTRATION,
  ANNOTATION_QUOTAS,
  LABEL_ORG_ID,
  LABEL_PROTECTED,
} from "../names.ts";
import { openWorld, type RawRequest, WRITERS, type Writer } from "./testing.ts";

const ORG = randomUUID();
const NAME = `org-${ORG}`;
const LABELLED = `team-${ORG}`;
/** Namespaces of other organizations that hold what is protected. */
const MARKED = { cluster: `org-${randomUUID()}`, pool: `org-${randomUUID()}`, other: `org-${randomUUID()}` };

const world = setUp(openWorld);

/** One Namespace that has the name of an organization's, and one that has its label. */
beforeAll(async () => {
  for (const metadata of [
    { name: NAME, annotations: { [ANNOTATION_QUOTAS]: "{}" } },
    { name: LABELLED, labels: { [LABEL_ORG_ID]: ORG } },
    { name: MARKED.cluster, labels: { [LABEL_PROTECTED]: "cluster.shop" } },
    { name: MARKED.pool, labels: { [LABEL_PROTECTED]: "node-pool.web" } },
    { name: MARKED.other, labels: { [LABEL_PROTECTED]: "true" } },
  ]) {
    const made = await world.send("admin", {
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata },
    });
    if (made.status !== 201) throw new Error(made.body.message);
  }
  const apiGroup = "rbac.authorization.k8s.io";
  const bound = await world.send("admin", {
    method: "POST",
    path: `/apis/${apiGroup}/v1/namespaces/${NAME}/rolebindings`,
    body: {
      metadata: { name: "registration" },
      roleRef: { apiGroup, kind: "ClusterRole", name: "marina-registration" },
      subjects: [{ apiGroup, kind: "User", name: WRITERS.landlord.user }],
    },
  });
  if (bound.status !== 201) throw new Error(bound.body.message);
  return async () => {
    for (const name of Object.values(MARKED)) {
      const { query: _dryRun, ...unmark } = merge(name, mark(null));
      await world.send("admin", unmark);
    }
    for (const name of [NAME, LABELLED, ...Object.values(MARKED)])
      await world.send("admin", { method: "DELETE", path: `/api/v1/namespaces/${name}` });
  };
});

const query = { dryRun: "All" };
const create = (metadata: object): RawRequest => ({
  method: "POST",
  path: "/api/v1/namespaces",
  query,
  body: { metadata },
});
const merge = (name: string, metadata: object): RawRequest => ({
  method: "PATCH",
  path: `/api/v1/namespaces/${name}`,
  query,
  contentType: "application/merge-patch+json",
  body: { metadata },
});

const PARTS = ["status", "finalize"] as const;
/** Made through a part of the Namespace; only `status` takes a patch. */
const through = (part: (typeof PARTS)[number], name: string, metadata: object): RawRequest => {
  const { path, ...patch } = merge(name, metadata);
  if (part === "status") return { ...patch, path: `${path}/${part}` };
  const body = { metadata: { name, ...metadata }, spec: { finalizers: ["kubernetes"] } };
  return { method: "PUT", path: `${path}/${part}`, query, body };
};

const remove = (name: string): RawRequest => ({
  method: "DELETE",
  path: `/api/v1/namespaces/${name}`,
  query,
});

const PROGRAMS = "Marina's programs write no Namespaces but those of organizations";
const ALONE = "on the Namespace of an organization are set by Marina alone";
const quotas = { annotations: { [ANNOTATION_QUOTAS]: '{"clusters":1000}' } };
const CREDENTIALS = "decides which credentials of clusters are handed out";
const allowed = { annotations: { [ANNOTATION_ALLOWED_REGISTRATION]: "fluxSecret" } };
const team = { labels: { "example.com/team": "a" }, annotations: { "example.com/cost-center": "1" } };

const mark = (value: string | null) => ({ labels: { [LABEL_PROTECTED]: value } });

const attempts: [Writer, string, RawRequest, string?][] = [
  [
    "landlord",
    "creates a second Namespace of an organization",
    create({ name: "mine", labels: { [LABEL_ORG_ID]: ORG } }),
    ALONE,
  ],
  ["landlord", "raises the limits of an organization", merge(NAME, quotas), ALONE],
  [
    "landlord",
    "removes the limits of an organization",
    merge(NAME, { annotations: { [ANNOTATION_QUOTAS]: null } }),
    ALONE,
  ],
  ["landlord", "sets limits on a Namespace with the label", merge(LABELLED, quotas), ALONE],
  [
    "landlord",
    "makes a Namespace one of an organization",
    merge("default", { labels: { [LABEL_ORG_ID]: ORG } }),
    ALONE,
  ],
  [
    "landlord",
    "sets an annotation of a subdomain",
    merge(NAME, { annotations: { "x.cloud.marina.dev/y": "1" } }),
    ALONE,
  ],
  [
    "landlord",
    "allows credentials to be handed out, with the right to that in this Namespace alone",
    merge(NAME, allowed),
    CREDENTIALS,
  ],
  ["landlord", "allows credentials in a Namespace with the label", merge(LABELLED, allowed), CREDENTIALS],
  ["registrar", "allows credentials to be handed out", merge(NAME, allowed)],
  [
    "registrar",
    "raises the limits besides",
    merge(NAME, { annotations: { ...allowed.annotations, ...quotas.annotations } }),
    ALONE,
  ],
  ["engineer", "raises the limits of an organization", merge(NAME, quotas), "attack:engineer"],
  ["gitops", "raises the limits of an organization", merge(NAME, quotas), "attack:gitops"],
  ["landlord", "sets labels of others", merge(NAME, team)],
  ["landlord", "sets annotations of others beside the label", merge(LABELLED, team)],
  ["landlord", "creates a Namespace", create({ name: "mine", ...team })],
  [
    "restore",
    "restores a Namespace",
    create({ name: `org-${randomUUID()}`, labels: { [LABEL_ORG_ID]: randomUUID() }, ...quotas }),
  ],
  [
    "admin",
    "moves a Namespace to another organization",
    merge(LABELLED, { labels: { [LABEL_ORG_ID]: randomUUID() } }),
    "cannot be changed once it is set",
  ],
  ["admin", "allows credentials to be handed out", merge(NAME, allowed)],
  ["apiserver", "publishes limits", merge(NAME, quotas)],
  ["apiserver", "creates the Namespace of an organization", create({ name: `org-${randomUUID()}` })],
  ["apiserver", "deletes the Namespace of an organization", remove(NAME)],
  ["apiserver", "creates another Namespace", create({ name: "mine" }), PROGRAMS],
  ["apiserver", "changes another Namespace", merge("kube-system", team), PROGRAMS],
  ["apiserver", "changes a Namespace with the label alone", merge(LABELLED, quotas), PROGRAMS],
  ["apiserver", "deletes another Namespace", remove(LABELLED), PROGRAMS],
  ["apiserver", "marks the Namespace of an organization as protected", merge(NAME, mark("cluster.shop"))],
  ["apiserver", "marks a Namespace with the label", merge(LABELLED, mark("cluster.shop"))],
  [
    "apiserver",
    "marks a Namespace with the label, and changes it besides",
    merge(LABELLED, { ...mark("cluster.shop"), annotations: team.annotations }),
    PROGRAMS,
  ],
  ["apiserver", "marks another Namespace", merge("kube-system", mark("cluster.shop")), PROGRAMS],
  ...(["landlord", "registrar"] as const).flatMap((who): typeof attempts => [
    [who, "marks the Namespace of an organization", merge(NAME, mark("cluster.shop")), ALONE],
    [who, "takes the mark away", merge(MARKED.cluster, mark(null)), ALONE],
  ]),
  ...PARTS.flatMap((part): typeof attempts => [
    ["landlord", `raises the limits through ${part}`, through(part, NAME, quotas), ALONE],
    ["landlord", `marks it through ${part}`, through(part, NAME, mark("cluster.shop")), ALONE],
    ["landlord", `takes the mark away through ${part}`, through(part, MARKED.cluster, mark(null)), ALONE],
    ["landlord", `allows credentials through ${part}`, through(part, NAME, allowed), CREDENTIALS],
    [
      "landlord",
      `makes a Namespace one of an organization through ${part}`,
      through(part, "default", { labels: { [LABEL_ORG_ID]: ORG } }),
      ALONE,
    ],
    [
      "admin",
      `moves a Namespace to another organization through ${part}`,
      through(part, LABELLED, { labels: { [LABEL_ORG_ID]: randomUUID() } }),
      "cannot be changed once it is set",
    ],
    [
      "landlord",
      `sets labels of others through ${part}`,
      through(part, MARKED.cluster, { ...mark("cluster.shop"), annotations: team.annotations }),
    ],
  ]),
  [
    "namespaceController",
    "finalizes the Namespace of an organization",
    through("finalize", MARKED.cluster, mark("cluster.shop")),
  ],
  ["engineer", "takes the mark away", merge(MARKED.cluster, mark(null)), "attack:engineer"],
  ["gitops", "takes the mark away", merge(MARKED.cluster, mark(null)), "attack:gitops"],
  [
    "admin",
    "deletes a Namespace with a protected cluster",
    remove(MARKED.cluster),
    "The cluster shop is protected from deletion: set spec.deletionProtection to false first.",
  ],
  [
    "admin",
    "deletes a Namespace with a protected node pool",
    remove(MARKED.pool),
    "The node pool web is protected from deletion: set spec.deletionProtection to false first.",
  ],
  [
    "admin",
    "deletes a Namespace that somebody has marked",
    remove(MARKED.other),
    "It holds what is protected from deletion: set spec.deletionProtection to false there first.",
  ],
  ["apiserver", "deletes an organization's Namespace that is marked", remove(MARKED.cluster)],
];

test.each(attempts)("%s %s", async (who, _what, request, refused) => {
  const { status, body } = await world.send(who, request);
  expect(refused === undefined ? (body.message ?? "") : body.message).toContain(refused ?? "");
  expect(status < 300).toBe(refused === undefined);
});
