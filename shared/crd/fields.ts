import { z } from "zod";
import { KUBERNETES_VERSION_PATTERN } from "../kubernetes-version.ts";

/** The largest pool; every counter of nodes and every list of machines is bounded by it. */
export const MAX_NODES_PER_POOL = 1000;

/** Longest `metadata.name`: Cluster API derives names of up to 63 characters from it. */
export const MAX_OBJECT_NAME_LENGTH = 40;
export const OBJECT_NAME_PATTERN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** Text for people. Length is counted in code points, as the Kubernetes API server does, not in UTF-16 units. */
export function text(minLength: number, maxLength: number, description: string) {
  return z
    .string()
    .superRefine((value, context) => {
      const length = Array.from(value).length;
      if (length < minLength) {
        const message = `must have at least ${minLength} characters`;
        context.addIssue({ code: "custom", message, params: { code: "too_short" } });
      }
      if (length > maxLength) {
        const message = `must have at most ${maxLength} characters`;
        context.addIssue({ code: "custom", message, params: { code: "too_long" } });
      }
    })
    .meta({ description, minLength, maxLength });
}

export function integer(minimum: number, maximum: number, description: string) {
  return z.int().min(minimum).max(maximum).meta({ description });
}

/** An RFC 3339 time; the API server checks the format. */
export function timestamp(description: string) {
  return z.string().max(64).meta({ description, format: "date-time" });
}

/** The `metadata.name` of another object of ours in the same namespace. */
export function objectName(description: string) {
  return z.string().min(1).max(MAX_OBJECT_NAME_LENGTH).regex(OBJECT_NAME_PATTERN).meta({ description });
}

/** `MAJOR.MINOR.PATCH` or `MAJOR.MINOR`, with or without a leading `v`. */
export function kubernetesVersion(description: string) {
  return z.string().min(1).max(16).regex(KUBERNETES_VERSION_PATTERN).meta({ description });
}

/** A short reason in CamelCase, for programs. */
export function reason(description: string) {
  return z
    .string()
    .min(1)
    .max(128)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .meta({ description });
}

export const displayNameSchema = text(
  1,
  63,
  "Name shown to people and used by the REST API. May be changed at any time. Defaults to metadata.name.",
);

export const observedGenerationSchema = integer(
  0,
  Number.MAX_SAFE_INTEGER,
  "The metadata.generation that this status describes. While it is smaller, the status speaks of an older specification.",
);

/**
 * What a status says before anybody has looked at the object. Without it kstatus (Flux, kpt) would call a new object
 * done, because it has no condition that says otherwise.
 */
export const UNOBSERVED_STATUS = { observedGeneration: -1 };

/** As `observedGenerationSchema`, of the whole status. */
export const statusGenerationSchema = integer(
  UNOBSERVED_STATUS.observedGeneration,
  Number.MAX_SAFE_INTEGER,
  "The metadata.generation that this status describes. While it is smaller, the status speaks of an older specification; -1 while nobody has looked at the object.",
);

/** How many transitions an object keeps in its status; the oldest is dropped. */
export const MAX_TRANSITIONS = 16;

export const transitionSequenceSchema = integer(
  1,
  Number.MAX_SAFE_INTEGER,
  "Number of the event in the life of this object, rising by one.",
);
