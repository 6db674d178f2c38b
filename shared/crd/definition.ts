import type { z } from "zod";
import type { Kind } from "../kube/kind.ts";
import type { Fault } from "./rule.ts";

export interface PrinterColumn {
  name: string;
  type: "string" | "integer" | "boolean" | "date";
  jsonPath: string;
  description: string;
  /** 0 is always shown, 1 only with `-o wide`. */
  priority?: 0 | 1;
}

/** A rule over the whole object; `metadata.name` and `status` are in reach besides `spec`. */
export interface RootRule extends Fault {
  cel: string;
}

/** Everything about one custom resource that becomes its CustomResourceDefinition. */
export interface ResourceDefinition {
  kind: Kind<unknown>;
  singular: string;
  shortNames: readonly string[];
  description: string;
  spec: z.ZodType;
  status: z.ZodType;
  rules: readonly RootRule[];
  printerColumns: readonly PrinterColumn[];
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
}

export const ageColumn: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since the object was created.",
};

/** Cluster API builds names and DNS labels from ours, so a name is a DNS label of at most 40 characters. */
export const objectNameRules: readonly RootRule[] = [
  {
    field: "",
    code: "too_long",
    cel: "self.metadata.name.size() <= 40",
    message: "metadata.name: must have at most 40 characters",
  },
  {
    field: "",
    code: "invalid_format",
    cel: "!self.metadata.name.contains('.')",
    message: "metadata.name: must not contain a dot",
  },
];
