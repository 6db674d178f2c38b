import type { KubeClient } from "../shared/kube/client.ts";
import { createLogger } from "../shared/program/log.ts";
import type { Caches } from "./caches.ts";
import { createCaches } from "./create-caches.ts";
import { settings } from "./testing.ts";

const neverAsked = () => {
  throw new Error("the caches are not started");
};

/** The operator's caches, which are not started: only the test fills them. */
export function createTestCaches(
  client: Pick<KubeClient, "list" | "watch"> = { list: neverAsked, watch: neverAsked },
  platformNamespace = settings.platformNamespace,
): Caches {
  return createCaches({
    client,
    platformNamespace,
    log: createLogger({ name: "test", level: "silent" }),
    metrics: { onRestart: () => undefined, onSize: () => undefined },
  }).caches;
}
