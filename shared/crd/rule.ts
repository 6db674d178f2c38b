import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";

/** The machine-readable code of an invalid field; a subset of the detail codes of the REST API. */
export type RuleViolationCode =
  | "immutable"
  | "out_of_range"
  | "too_long"
  | "too_short"
  | "too_many"
  | "duplicate"
  | "invalid_format"
  | "invalid_cidr"
  | "not_incremental"
  | "not_ascending"
  | "min_gt_desired"
  | "desired_gt_max"
  | "min_gt_max"
  | "below_one_node";

export interface RuleViolation {
  /** Name of the field, relative to the value of the rule; empty for the value itself. */
  field: string;
  code: RuleViolationCode;
  message: string;
  /** Said instead by the custom resource, which has defaults that REST has not. */
  crdMessage?: string;
}

/** A rule about a value, in CEL for the Kubernetes API server and in TypeScript for REST and the operator. */
export interface Rule<T> extends RuleViolation {
  cel: string;
  holds(value: T): boolean;
}

/** A rule about an update; `oldSelf` in CEL. */
export interface TransitionRule<T> extends RuleViolation {
  cel: string;
  holds(value: T, old: T): boolean;
}

/** An entry of `x-kubernetes-validations`. */
export interface KubernetesValidation {
  rule: string;
  message: string;
  reason: "FieldValueInvalid" | "FieldValueForbidden";
  fieldPath?: string;
}

/** The rules that a value violates, in their order. */
export function findViolations<T>(rules: readonly Rule<T>[], value: T): RuleViolation[] {
  return rules.filter((rule) => !rule.holds(value)).map(toViolation);
}

/** The rules that a change from `old` to `value` violates, in their order. */
export function findTransitionViolations<T>(
  rules: readonly TransitionRule<T>[],
  value: T,
  old: T,
): RuleViolation[] {
  return rules.filter((rule) => !rule.holds(value, old)).map(toViolation);
}

/**
 * Adds rules to a schema: zod reports violations of `rules` (issue path = the field, `params.code` = the code), and the
 * generated CRD contains the CEL of all rules. The metadata of the schema is kept.
 */
export function withRules<S extends z.ZodType>(
  schema: S,
  rules: readonly Rule<z.output<S>>[],
  transitionRules: readonly TransitionRule<z.output<S>>[] = [],
): S {
  const refined = schema.superRefine((value, context) => {
    for (const { field, code, message, crdMessage } of rules.filter((rule) => !rule.holds(value))) {
      context.addIssue({
        code: "custom",
        path: field === "" ? [] : field.split("."),
        message: crdMessage ?? message,
        params: { code },
      });
    }
  });
  return refined.meta({
    ...schema.meta(),
    "x-kubernetes-validations": [...rules, ...transitionRules].map(toKubernetesValidation),
  });
}

/** The CRD form of a rule. kube-apiserver reports immutable fields as "Forbidden", other violations as "Invalid". */
export function toKubernetesValidation(rule: RuleViolation & { cel: string }): KubernetesValidation {
  return {
    rule: rule.cel,
    message: rule.crdMessage ?? rule.message,
    reason: rule.code === "immutable" ? "FieldValueForbidden" : "FieldValueInvalid",
    ...(rule.field === "" ? {} : { fieldPath: `.${rule.field}` }),
  };
}

function toViolation({ field, code, message }: RuleViolation): RuleViolation {
  return { field, code, message };
}

/** The field cannot be changed, added or removed after creation. */
export function immutable<T extends object>(field: keyof T & string, message: string): TransitionRule<T> {
  return {
    field,
    code: "immutable",
    message,
    cel: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    holds: (value, old) => isDeepStrictEqual(value[field], old[field]),
  };
}

/** The field is optional and mutable, but cannot be removed. */
export function keptOnceSet<T extends object>(field: keyof T & string): TransitionRule<T> {
  return {
    field,
    code: "immutable",
    message: "cannot be removed once it is set; set another value instead",
    cel: `!has(oldSelf.${field}) || has(self.${field})`,
    holds: (value, old) => old[field] === undefined || value[field] !== undefined,
  };
}
