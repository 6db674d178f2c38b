import { isDeepStrictEqual } from "node:util";
import type {
  ClusterAccess,
  ClusterAccessConditionType,
  ClusterAccessStatus,
} from "../../shared/crd/cluster-access.ts";
import { clipConditionMessage } from "../../shared/crd/conditions.ts";
import { formatTime, type NewCondition, setConditions } from "../runtime/conditions.ts";

/** How an access stands after a reconcile. */
export type AccessOutcome =
  | { kind: "granted"; certificate: string; expiresAt: Date }
  | { kind: "waiting"; reason: string; message: string }
  | { kind: "refused"; reason: string; message: string };

/** The whole status of an access; undefined when it says what the last one said. What was issued stays in it. */
export function composeAccessStatus(
  access: ClusterAccess,
  outcome: AccessOutcome,
  now: Date,
): ClusterAccessStatus | undefined {
  const last = access.status;
  const generation = access.metadata.generation ?? 0;
  const issued =
    outcome.kind === "granted"
      ? { certificate: outcome.certificate, expiresAt: formatTime(outcome.expiresAt) }
      : {
          ...(last?.certificate !== undefined && { certificate: last.certificate }),
          ...(last?.expiresAt !== undefined && { expiresAt: last.expiresAt }),
        };
  const conditions = setConditions<ClusterAccessConditionType>(
    last?.conditions ?? [],
    decideConditions(outcome),
    now,
    generation,
  );
  const status = { observedGeneration: generation, conditions, ...issued };
  return isDeepStrictEqual(status, last) ? undefined : status;
}

function decideConditions(outcome: AccessOutcome): NewCondition<ClusterAccessConditionType>[] {
  const granted = outcome.kind === "granted";
  const { reason, message } = granted
    ? { reason: "Issued", message: "The certificate is issued and its right is given." }
    : { reason: outcome.reason, message: clipConditionMessage(outcome.message) };
  const state = (isTrue: boolean) => (isTrue ? "True" : "False");
  return [
    { type: "Ready", status: state(granted), reason, message },
    { type: "Reconciling", status: state(outcome.kind === "waiting"), reason, message },
    { type: "Stalled", status: state(outcome.kind === "refused"), reason, message },
  ];
}
