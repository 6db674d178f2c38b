import { expect, test } from "vitest";
import { KubeError } from "../shared/kube/errors.ts";
import { createLogger } from "../shared/program/log.ts";
import { findUnusedCaches } from "./autoscaler/observe.ts";
import { createCaches } from "./create-caches.ts";
import { settings } from "./testing.ts";

const FORBIDDEN = ["serviceaccounts", "deployments"];

/** Starts the caches of an operator; the kinds that it reads until they are all synced. */
async function listKinds(autoscalerImage: string | undefined): Promise<string[]> {
  const listed: string[] = [];
  const stop = new AbortController();
  const set = createCaches({
    client: {
      async list(kind) {
        listed.push(kind.plural);
        return { items: [], resourceVersion: "1", continueToken: undefined } as never;
      },
      watch: () => {
        throw new KubeError({ status: 0, reason: "Aborted", kubeMessage: "the test has no watch" });
      },
    },
    platformNamespace: settings.platformNamespace,
    unused: findUnusedCaches({ ...settings, autoscalerImage }),
    log: createLogger({ name: "test", level: "silent" }),
    metrics: { onRestart: () => undefined, onSize: () => undefined },
  });
  set.start(stop.signal);
  await set.synced;
  stop.abort();
  return FORBIDDEN.filter((kind) => listed.includes(kind));
}

test("an operator without an image of the autoscaler reads nothing that only autoscalers have, and starts", async () => {
  expect(await listKinds(undefined)).toEqual([]);
  expect(await listKinds("autoscaler")).toEqual(FORBIDDEN);
});
