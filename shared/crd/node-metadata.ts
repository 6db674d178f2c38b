import { z } from "zod";
import { type Rule, withRules } from "./rule.ts";

/** Cluster API propagates these labels to Nodes in any case. */
const ALWAYS_PROPAGATED = /^node-role\.kubernetes\.io\//;

/** What Cluster API's core manager propagates beyond them without its flag --additional-sync-machine-labels. */
export const NO_OTHER_LABEL = /(?!)/;

/**
 * Whether Cluster API propagates a label of a pool to its nodes without configuration; others need the core manager's flag
 * --additional-sync-machine-labels. Source: "metadata propagation" in Cluster API's book.
 */
export function isAlwaysPropagated(label: string): boolean {
  return ALWAYS_PROPAGATED.test(label);
}

export const MAX_NODE_LABELS = 64;
export const MAX_NODE_TAINTS = 32;
const MAX_KEY_LENGTH = 317;

/** The parts of a key of a label, as patterns that CEL reads too. */
export const LABEL_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
export const LABEL_DOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY_PATTERN = new RegExp(`^(${LABEL_DOMAIN}/)?${LABEL_NAME}$`);
const VALUE_PATTERN = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;

export const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;

/** Label domains reserved for Kubernetes, Cluster API and the platform, including their subdomains. */
const RESERVED_DOMAINS = ["kubernetes.io", "k8s.io", "cluster.x-k8s.io", "cloud.marina.dev"];
const ALLOWED_DOMAIN = "node-role.kubernetes.io";

/** Whether Cluster API would drop a label with this key, or overwrite its value on a node. */
export function isReservedLabelKey(key: string): boolean {
  if (key === "machine-template-hash") return true;
  const slash = key.indexOf("/");
  if (slash < 0) return false;
  const domain = key.slice(0, slash);
  if (domain === ALLOWED_DOMAIN) return false;
  return RESERVED_DOMAINS.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`));
}

/** Whether a taint with this key is the platform's; Cluster API refuses the control plane's on workers. */
function isReservedTaintKey(key: string): boolean {
  if (key === "node-role.kubernetes.io/control-plane") return true;
  return key !== "machine-template-hash" && isReservedLabelKey(key);
}

type Labels = Record<string, string>;

const KEY_FORM =
  "of at most 63 characters (letters, digits, '-', '_', '.'), optionally after a DNS domain of at most 253 characters and a '/'";
const KEY_MESSAGE = `must be a name ${KEY_FORM}`;
const RESERVED_KEYS =
  "keys under kubernetes.io, k8s.io, cluster.x-k8s.io and cloud.marina.dev, nor machine-template-hash: they are reserved for the platform; of these only node-role.kubernetes.io/ may be used";
const RESERVED_TAINT_KEYS =
  "keys under kubernetes.io, k8s.io, cluster.x-k8s.io and cloud.marina.dev: they are reserved for the platform; of these only node-role.kubernetes.io/ may be used, save for its control-plane";

const labelRules: readonly Rule<Labels>[] = [
  {
    field: "",
    code: "invalid_format",
    message: `must have keys that are names ${KEY_FORM}`,
    cel: `self.all(key, key.matches('^(${LABEL_DOMAIN}/)?${LABEL_NAME}$') && key.indexOf('/') <= 253)`,
    holds: (labels) => Object.keys(labels).every((key) => KEY_PATTERN.test(key) && key.indexOf("/") <= 253),
  },
  {
    field: "",
    code: "invalid_format",
    message: `must have no ${RESERVED_KEYS}`,
    cel: "self.all(key, key.startsWith('node-role.kubernetes.io/') || !(key == 'machine-template-hash' || key.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|cluster[.]x-k8s[.]io|cloud[.]marina[.]dev)/')))",
    holds: (labels) => !Object.keys(labels).some(isReservedLabelKey),
  },
];

const VALUE_MESSAGE =
  "must be at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends";

const labelValueSchema = z
  .string()
  .max(63, { error: VALUE_MESSAGE })
  .regex(VALUE_PATTERN, { error: VALUE_MESSAGE })
  .meta({ description: "Value of the label, at most 63 characters; may be empty." });

export const nodeLabelsSchema = withRules(
  z
    .record(z.string(), labelValueSchema)
    .superRefine((labels, context) => {
      if (Object.keys(labels).length <= MAX_NODE_LABELS) return;
      const message = `must have at most ${MAX_NODE_LABELS} entries`;
      context.addIssue({ code: "custom", message, params: { code: "too_many" } });
    })
    .meta({
      description: "Labels of the pool's nodes. Mutable; existing nodes are updated in place.",
      maxProperties: MAX_NODE_LABELS,
    }),
  labelRules,
);

export const nodeTaintSchema = z
  .object({
    key: z
      .string()
      .min(1, { error: KEY_MESSAGE })
      .max(MAX_KEY_LENGTH, { error: KEY_MESSAGE })
      .regex(KEY_PATTERN, { error: KEY_MESSAGE })
      .meta({ description: "Key of the taint: a name, optionally after a DNS domain and a '/'." }),
    // Cluster API takes no empty value.
    value: labelValueSchema
      .min(1, { error: "must not be empty; leave it out" })
      .meta({ description: "Value of the taint, 1 to 63 characters; without one it is left out." })
      .optional(),
    effect: z
      .enum(taintEffects)
      .meta({ description: "What happens to pods that do not tolerate the taint." }),
  })
  .meta({ description: "Repels pods that do not tolerate it." });

type Taint = z.output<typeof nodeTaintSchema>;

const taintRules: readonly Rule<Taint[]>[] = [
  {
    field: "",
    code: "invalid_format",
    message: `must have no ${RESERVED_TAINT_KEYS}`,
    cel: "!self.exists(taint, taint.key == 'node-role.kubernetes.io/control-plane' || (!taint.key.startsWith('node-role.kubernetes.io/') && taint.key.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|cluster[.]x-k8s[.]io|cloud[.]marina[.]dev)/')))",
    holds: (taints) => !taints.some(({ key }) => isReservedTaintKey(key)),
  },
  {
    field: "",
    code: "duplicate",
    message: "must not have two taints with the same key and effect",
    cel: "self.all(taint, self.exists_one(other, other.key == taint.key && other.effect == taint.effect))",
    holds: (taints) => new Set(taints.map(({ key, effect }) => `${effect} ${key}`)).size === taints.length,
  },
];

/** A list with the rules for taints; `nodeTaintsSchema` is the one of a custom resource. */
export function taintsOf(taint: typeof nodeTaintSchema) {
  const list = z.array(taint).max(MAX_NODE_TAINTS).meta({
    description:
      "Taints that new nodes of the pool register with. Immutable, because existing nodes would not be updated.",
    "x-kubernetes-list-type": "atomic",
  });
  return withRules(list, taintRules);
}

export const nodeTaintsSchema = taintsOf(nodeTaintSchema);
