import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan, type Step, StepError } from "../../shared/controller/plan.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { namespaceKind, type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { messageOf } from "../../shared/program/errors.ts";
import type { Caches, RunContext } from "../caches.ts";
import { composeCopy, composeReplacement, isCopy } from "./copy.ts";
import { type CredentialSettings, observeCredentials } from "./observe.ts";
import { reconcileCredentials } from "./reconcile.ts";

export interface CredentialDeps {
  client: Pick<KubeClient, "get">;
  caches: Caches;
  settings: CredentialSettings;
}

const kind = secretKind as Kind<KubeObject>;

/**
 * Reconciles the copies of the provider's credentials in one Namespace: removes, replaces, creates, each one on its own. A Secret of
 * that name that is no copy stays as it is. Rejects at the end with an error that names each Secret that was not written, or at once
 * with the StepError of a Namespace that is being deleted.
 */
export async function runProviderCredentials(
  deps: CredentialDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const observed = observeCredentials(deps.caches, deps.settings, key);
  if (observed === undefined) return undefined;
  const { create, replace, remove } = reconcileCredentials(observed);
  const read = (namespace: string, name: string) =>
    deps.client.get(secretKind, namespace, name, { signal: context.signal });
  // The cache of the copies shows these writes, and wakes this controller.
  const written = { ...context, kind: namespaceKind, onWritten: () => undefined };
  const failures: string[] = [];
  const attempt = async (name: string, compose: (source: Secret) => Step) => {
    try {
      const source = await read(deps.settings.platformNamespace, name);
      const apply = source === undefined ? [] : [compose(source)];
      await applyPlan(written, observed.namespace, composePlan({ apply }));
    } catch (error) {
      const cause = error instanceof StepError && error.cause instanceof KubeError ? error.cause : undefined;
      if (cause?.isNamespaceTerminating === true) throw error;
      const found = cause?.isConflict === true ? await read(key, name) : undefined;
      if (found === undefined) failures.push(`${name}: ${messageOf(error)}`);
      // A copy that the cache does not show yet is looked at when it does.
      else if (!isCopy(found)) failures.push(`${name}: there is one that is no copy; remove it`);
    }
  };

  const removing = remove.map(
    ({ metadata: { name, uid } }): Step => ({ verb: "delete", kind, namespace: key, name, uid }),
  );
  await applyPlan(written, observed.namespace, composePlan({ remove: removing }));
  for (const copy of replace) {
    const { name } = copy.metadata;
    await attempt(name, (source) => {
      return { verb: "patch", kind, namespace: key, name, operations: composeReplacement(copy, source) };
    });
  }
  for (const name of create)
    await attempt(name, (source) => {
      return { verb: "apply", kind, object: composeCopy(source, key), isNew: true };
    });
  if (failures.length > 0)
    throw new Error(`Secrets of the Namespace ${key} were not written: ${failures.join("; ")}`);
  return undefined;
}
