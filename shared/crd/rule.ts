import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";

/** What is wrong with a field, for programs; a subset of the detail codes of the REST API. */
export type FaultCode =
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

export interface Fault {
  /** Name of the field inside the value that the rule belongs to; empty for the value itself. */
  field: string;
  code: FaultCode;
  message: string;
}

/** A rule about one value, said twice: in CEL for the Kubernetes API server, in TypeScript for REST and the operator. */
export interface Rule<T> extends Fault {
  cel: string;
  holds(value: T): boolean;
}

/** A rule about a change; the API server evaluates it on updates only (`oldSelf` in CEL). */
export interface TransitionRule<T> extends Fault {
  cel: string;
  holds(value: T, old: T): boolean;
}

/** One entry of `x-kubernetes-validations`. */
export interface KubernetesValidation {
  rule: string;
  message: string;
  reason: "FieldValueInvalid" | "FieldValueForbidden";
  fieldPath?: string;
}

/** The rules that a value breaks, in the order in which they are listed. */
export function findFaults<T>(rules: readonly Rule<T>[], value: T): Fault[] {
  return rules.filter((rule) => !rule.holds(value)).map(toFault);
}

/** The rules that a change from `old` to `value` breaks, in the order in which they are listed. */
export function findTransitionFaults<T>(rules: readonly TransitionRule<T>[], value: T, old: T): Fault[] {
  return rules.filter((rule) => !rule.holds(value, old)).map(toFault);
}

/**
 * Adds rules to a schema: zod refuses what breaks one of `rules` (issue path = the field, `params.code` = the code),
 * and the generated resource definition carries the CEL of all of them. Keeps the metadata that the schema has.
 */
export function withRules<S extends z.ZodType>(
  schema: S,
  rules: readonly Rule<z.output<S>>[],
  transitionRules: readonly TransitionRule<z.output<S>>[] = [],
): S {
  const refined = schema.superRefine((value, context) => {
    for (const fault of findFaults(rules, value)) {
      context.addIssue({
        code: "custom",
        path: fault.field === "" ? [] : fault.field.split("."),
        message: fault.message,
        params: { code: fault.code },
      });
    }
  });
  return refined.meta({
    ...schema.meta(),
    "x-kubernetes-validations": [...rules, ...transitionRules].map(toKubernetesValidation),
  });
}

/** The form in which the API server takes a rule. A field that may not change reads as "Forbidden", others as "Invalid". */
export function toKubernetesValidation(rule: Fault & { cel: string }): KubernetesValidation {
  return {
    rule: rule.cel,
    message: rule.message,
    reason: rule.code === "immutable" ? "FieldValueForbidden" : "FieldValueInvalid",
    ...(rule.field === "" ? {} : { fieldPath: `.${rule.field}` }),
  };
}

function toFault({ field, code, message }: Fault): Fault {
  return { field, code, message };
}

/** A field that keeps its first value: it cannot be changed, nor added or removed after creation. */
export function immutable<T extends object>(field: keyof T & string, message: string): TransitionRule<T> {
  return {
    field,
    code: "immutable",
    message,
    cel: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    holds: (value, old) => isDeepStrictEqual(value[field], old[field]),
  };
}

/** An optional field that may be set and changed at any time, but not removed again. */
export function keptOnceSet<T extends object>(field: keyof T & string): TransitionRule<T> {
  return {
    field,
    code: "immutable",
    message: "cannot be removed once it is set; set another value instead",
    cel: `!has(oldSelf.${field}) || has(self.${field})`,
    holds: (value, old) => old[field] === undefined || value[field] !== undefined,
  };
}
