import { StepError } from "../../shared/controller/plan.ts";
import type { RegistrationPart } from "../../shared/crd/cluster.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { apiVersionOf } from "../../shared/kube/kind.ts";
import { messageOf } from "../../shared/program/errors.ts";
import type { RegistrationOutcome } from "../tenant/tenant-findings.ts";
import { clusterProfileKind, OutdatedDefinitionError } from "./cluster-profile.ts";
import { describeSecret } from "./secret.ts";

/** What is in the way is removed, and a missing definition is installed, by a person: nothing here watches that. */
const RETRY_MS = 60_000;

/** What is said of a part that is not as decided; undefined for an attempt that was aborted. */
export function composeRegistrationFailure(
  part: RegistrationPart,
  error: unknown,
): { outcome: RegistrationOutcome; requeueAfterMs: number | undefined } | undefined {
  const step = error instanceof StepError ? error.step : undefined;
  const cause = error instanceof StepError ? error.cause : error;
  const kube = cause instanceof KubeError ? cause : undefined;
  if (kube?.isAborted === true) return undefined;
  const isProfile = step?.kind.kind === clusterProfileKind.kind;
  if (step?.verb !== "apply") {
    const isRemoval = step?.verb === "delete";
    const what = isRemoval && isProfile ? `The ${step.kind.kind} ${step.name}` : `The credential of ${part}`;
    const change = isRemoval ? "removed" : "issued";
    const message = `${what} cannot be ${change}: ${kube?.kubeMessage ?? messageOf(cause)}. It is retried automatically.`;
    return {
      outcome: { status: "Unknown", reason: "RegistrationFailed", message },
      requeueAfterMs: undefined,
    };
  }
  const { namespace = "", name } = step.object.metadata;
  const kind = isProfile ? clusterProfileKind.kind : secretKind.kind;
  const what = isProfile ? `the ${kind} ${name}` : describeSecret(part, { namespace, name });
  const isOutdated = cause instanceof OutdatedDefinitionError;
  if (isOutdated || (isProfile && kube?.isNotFound === true)) {
    const definition = `definition of ${kind} (${apiVersionOf(clusterProfileKind)})`;
    const lack = isOutdated
      ? `The platform's ${definition} has ${cause.message}`
      : `The platform has no ${definition}`;
    const message = `${lack}; ask the platform's operator.`;
    return {
      outcome: { status: "False", reason: `${clusterProfileKind.kind}NotInstalled`, message },
      requeueAfterMs: RETRY_MS,
    };
  }
  if (step.isNew === true && kube?.isConflict === true) {
    const message = `Marina did not make ${what}, which is there already; have it removed.`;
    return { outcome: { status: "False", reason: `${kind}Exists`, message }, requeueAfterMs: RETRY_MS };
  }
  const message = `Marina cannot write ${what}: ${kube?.kubeMessage ?? messageOf(cause)}. It is retried automatically.`;
  return { outcome: { status: "False", reason: `${kind}NotWritten`, message }, requeueAfterMs: undefined };
}
