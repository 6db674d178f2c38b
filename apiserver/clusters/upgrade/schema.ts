import { z } from "@hono/zod-openapi";
import { countField, textField } from "../../http/contract/fields.ts";
import { effectsRecord } from "../../node-pools/index.ts";
import { versionField } from "../desired-version.ts";
import { clusterRecord, exampleCluster, MAX_COUNT } from "../schema.ts";

/** Characters of `workers_error`; the rest is cut off. */
export const MAX_WORKERS_ERROR_LENGTH = 4096;

export const upgradeBody = z
  .strictObject({
    target_version: versionField("MAJOR.MINOR.PATCH, or MAJOR.MINOR for its newest supported patch.", "1.35"),
  })
  .openapi("UpgradeCluster", { example: { target_version: "1.35" } });

export const upgradeAccepted = z
  .object({
    cluster: clusterRecord,
    workers_total: countField(MAX_COUNT, "Node pools of the cluster.", 2),
    workers_patched: countField(MAX_COUNT, "Node pools that are upgraded with the cluster.", 2),
    workers_pending: countField(
      MAX_COUNT,
      "Node pools that are blocked; they are upgraded as soon as they can be.",
    ).optional(),
    workers_error: textField(MAX_WORKERS_ERROR_LENGTH, "The reasons, by node pool.").optional(),
    effects: effectsRecord.optional(),
  })
  .openapi("UpgradeAccepted", {
    example: { cluster: exampleCluster, workers_total: 2, workers_patched: 2 },
  });
