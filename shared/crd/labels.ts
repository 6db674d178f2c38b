import { z } from "zod";
import { LABEL_DOMAIN, LABEL_NAME } from "./node-metadata.ts";
import { type Rule, withRules } from "./rule.ts";

export const MAX_LABELS = 32;
export const MAX_LABEL_VALUE_LENGTH = 63;
const MAX_DOMAIN_LENGTH = 253;

const KEY_PATTERN = new RegExp(`^(${LABEL_DOMAIN}/)?${LABEL_NAME}$`);
const VALUE_PATTERN = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const RESERVED_PATTERN = "^([^/]*[.])?(kubernetes[.]io|k8s[.]io|cluster[.]x-k8s[.]io|cloud[.]marina[.]dev)/";
const RESERVED = new RegExp(RESERVED_PATTERN);

export type Labels = Record<string, string>;

const KEY_FORM =
  "of at most 63 characters (letters, digits, '-', '_', '.'), optionally after a DNS domain of at most 253 characters and a '/'";
const VALUE_MESSAGE =
  "must be at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends";

/** Whether Kubernetes takes it as the key of a label. */
export function isLabelKey(key: string): boolean {
  return KEY_PATTERN.test(key) && key.indexOf("/") <= MAX_DOMAIN_LENGTH;
}

/** Whether Kubernetes takes it as the value of a label. */
export function isLabelValue(value: string): boolean {
  return value.length <= MAX_LABEL_VALUE_LENGTH && VALUE_PATTERN.test(value);
}

const rules: readonly Rule<Labels>[] = [
  {
    field: "",
    code: "invalid_format",
    message: `must have keys that are names ${KEY_FORM}`,
    cel: `self.all(key, key.matches('^(${LABEL_DOMAIN}/)?${LABEL_NAME}$') && key.indexOf('/') <= ${MAX_DOMAIN_LENGTH})`,
    holds: (labels) => Object.keys(labels).every(isLabelKey),
  },
  {
    field: "",
    code: "invalid_format",
    message:
      "must have no keys under kubernetes.io, k8s.io, cluster.x-k8s.io and cloud.marina.dev: they are reserved for the platform",
    cel: `!self.exists(key, key.matches('${RESERVED_PATTERN}'))`,
    holds: (labels) => !Object.keys(labels).some((key) => RESERVED.test(key)),
  },
];

/** The labels that an owner gives an object of Marina's, in the syntax of Kubernetes. */
export const labelsSchema = withRules(
  z
    .record(
      z.string(),
      z
        .string()
        .max(MAX_LABEL_VALUE_LENGTH, { error: VALUE_MESSAGE })
        .regex(VALUE_PATTERN, { error: VALUE_MESSAGE })
        .meta({ description: "Value of the label, at most 63 characters; may be empty." }),
    )
    .superRefine((labels, context) => {
      if (Object.keys(labels).length <= MAX_LABELS) return;
      const message = `must have at most ${MAX_LABELS} entries`;
      context.addIssue({ code: "custom", message, params: { code: "too_many" } });
    })
    .meta({
      description: "Labels by which its owner selects and groups it in lists. No node gets them.",
      maxProperties: MAX_LABELS,
    }),
  rules,
);
