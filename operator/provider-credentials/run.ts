import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan, type Step } from "../../shared/controller/plan.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { namespaceKind, type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import type { Caches, RunContext } from "../caches.ts";
import { composeCopy } from "./copy.ts";
import { type CredentialSettings, observeCredentials } from "./observe.ts";
import { reconcileCredentials } from "./reconcile.ts";

export interface CredentialDeps {
  client: Pick<KubeClient, "get">;
  caches: Caches;
  settings: CredentialSettings;
}

const kind = secretKind as Kind<KubeObject>;

/**
 * Reconciles the copies of the provider's credentials in one Namespace. A Secret of that name that is no copy stays as it is.
 * Rejects with the StepError of a copy that was not written.
 */
export async function runProviderCredentials(
  deps: CredentialDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const observed = observeCredentials(deps.caches, deps.settings, key);
  if (observed === undefined) return undefined;
  const { create, replace, remove } = reconcileCredentials(observed);
  const read = (name: string) =>
    deps.client.get(secretKind, deps.settings.platformNamespace, name, { signal: context.signal });
  const apply: Step[] = [];
  for (const name of create) {
    const source = await read(name);
    if (source !== undefined)
      apply.push({ verb: "apply", kind, object: composeCopy(source, key), isNew: true });
  }
  for (const { metadata } of replace) {
    const source = await read(metadata.name);
    if (source !== undefined) apply.push(replaceData(key, metadata.name, source));
  }
  const removing = remove.map(
    ({ metadata: { name, uid } }): Step => ({ verb: "delete", kind, namespace: key, name, uid }),
  );
  // The cache of the copies shows these writes, and wakes this controller.
  const written = { ...context, kind: namespaceKind, onWritten: () => undefined };
  await applyPlan(written, observed.namespace, composePlan({ apply, remove: removing }));
  return undefined;
}

/** All of it: keys that somebody else has added go, too. */
function replaceData(namespace: string, name: string, { data = {} }: Secret): Step {
  const operations = [{ op: "add" as const, path: "/data", value: data }];
  return { verb: "patch", kind, namespace, name, operations };
}
