import { z } from "@hono/zod-openapi";
import { MAX_FORCE_REASON_LENGTH } from "../../shared/crd/upgrade-checks.ts";
import { nameField } from "../http/contract/fields.ts";
import { upgradeChecksField } from "../node-pools/index.ts";

/** The setting of a cluster. */
export const upgradeChecksSetting = z.enum(["warn", "enforce"]).openapi({
  description:
    "Whether what an upgrade finds in the cluster and that blocks it is only reported (warn), or refuses the upgrade (enforce) unless it is sent with force.",
});

/** In a request that upgrades. */
export const upgradeForce = z
  .strictObject({
    reason: nameField(MAX_FORCE_REASON_LENGTH, "Why, as one line; it stands in the audit log."),
  })
  .openapi("UpgradeForce", {
    description:
      "Upgrades whatever the checks find. Only with a new version, or with one that checks hold at present.",
    example: { reason: "The budget is of a test." },
  });

/** In a response that accepts an upgrade. */
export const upgradeWarnings = upgradeChecksField(
  "Of an upgrade that was accepted: what it finds in the cluster, for which it needs clusters:access.",
);
