import { test as base } from "vitest";
import { AUDIT_WEBHOOK } from "../platform/stack/management-cluster.ts";
import { startStack } from "../platform/stack/stack.ts";
import type { StackOptions } from "../platform/stack/stack-options.ts";

export const DIR = ".marina/faults-shared";
const STREAMS = "1000";

/**
 * Tests on one stack, which the first file of a project starts, and which ends after the last one. Every file leaves all
 * parts of it running.
 */
const onOneStack = (given: Partial<StackOptions> & { dir: string }) =>
  base
    .extend("options", { scope: "worker" }, given)
    .extend("stack", { scope: "worker" }, async ({ options }, { onCleanup }) => {
      const stack = await startStack({ provider: "in-memory", fresh: true, onCrash: "report", ...options });
      onCleanup(() => stack.stop());
      return stack;
    });

/** Without Cluster API's managers, for what needs no machine. */
export const test = onOneStack({
  dir: DIR,
  withoutManagers: true,
  audit: "deletions",
  apiserver: {
    MARINA_AUDIT_WEBHOOK_TOKEN: AUDIT_WEBHOOK.token,
    // Webhooks are delivered by replicas that a test may kill.
    MARINA_ROLES: "api,projector,harvester",
    MARINA_MAX_STREAMS_PER_PRINCIPAL: STREAMS,
    MARINA_MAX_STREAMS_PER_USER: STREAMS,
    MARINA_MAX_STREAMS_PER_ORGANIZATION: STREAMS,
  },
});

/** The whole service as it is. */
export const testWhole = onOneStack({ dir: ".marina/faults" });
