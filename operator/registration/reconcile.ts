import { findCondition } from "../../shared/controller/conditions.ts";
import type { Step } from "../../shared/controller/plan.ts";
import { type Cluster, type RegistrationPart, registrationParts } from "../../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessKind, isIssued } from "../../shared/crd/cluster-access.ts";
import { LABEL_REGISTRATION } from "../../shared/crd/names.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { toKey } from "../../shared/kube/object.ts";
import { isLive } from "../cluster-access/reconcile.ts";
import { displayNameOf, isDeleting } from "../identity/identity.ts";
import type { RegistrationOutcome } from "../tenant/tenant-findings.ts";
import { type ClusterProfile, composeClusterProfile } from "./cluster-profile.ts";
import {
  describeSecret,
  findRegistered,
  isOf,
  placeSecret,
  type RegistrationBasis,
  readRegistered,
} from "./secret.ts";

/** A renewed credential is read by those who use the one before within this time; then that one is revoked. */
export const OVERLAP_MS = 10 * 60_000;

/** All that is known about the registration of one cluster when it is reconciled: plain data, no client. */
export interface ObservedRegistration {
  /** "namespace/name" */
  key: string;
  /** Undefined = it is deleted. */
  cluster: Cluster | undefined;
  /** Undefined until the cluster has an id, a control plane and an admin kubeconfig, whose CA this one has too. */
  basis: RegistrationBasis | undefined;
  /** What the platform allows in the Namespace. */
  allowed: ReadonlySet<string>;
  argoCDNamespace: string | undefined;
  /** The Secrets of the cluster, trimmed, also of one before it with its name. */
  secrets: readonly Secret[];
  accesses: readonly ClusterAccess[];
  /** The accesses, by name, whose private keys this process has. */
  hasKeyOf: (access: string) => boolean;
}

/** What to do for one part. */
export interface RegistrationDecision {
  part: RegistrationPart;
  /** Accesses before Secrets: a credential is refused also where its Secret cannot be deleted. */
  remove: Step[];
  /** Create an access, and keep its private key until it is issued. */
  isRequest: boolean;
  /** Write the credential of this access to the Secret. */
  publish: ClusterAccess | undefined;
  /** The private key of the access that was asked for is needed as long as that is awaited. */
  needsKey: boolean;
  /** The ClusterProfile is written so, after the Secret, or deleted, before the Secret; undefined = it stays. */
  profile: { desired: ClusterProfile | undefined } | undefined;
  /** Undefined = the part is not wanted. */
  outcome: RegistrationOutcome | undefined;
  requeueAfterMs: number | undefined;
}

/** Decides what each part of a registration needs. Running it on its own result plans nothing. */
export function reconcileRegistration(observed: ObservedRegistration, now: Date): RegistrationDecision[] {
  return registrationParts.map((part) => {
    const own = ownOf(observed, part);
    const { cluster } = observed;
    const isWanted =
      cluster !== undefined && !isDeleting(cluster) && cluster.spec.registration?.[part] === true;
    if (!isWanted) return decideRemoval(part, own);
    const problem = findProblem(observed, part);
    if (problem !== undefined)
      return { ...decideRemoval(part, own), outcome: { status: "False", ...problem } };
    return withProfile(decideWanted(observed, part, cluster, own, now), cluster, observed);
  });
}

function decideRemoval(part: RegistrationPart, { secrets, accesses }: OwnObjects): RegistrationDecision {
  const remove = [...accesses, ...secrets].map(planRemoval);
  // There is no profile without them, so that for clusters that have none none is asked for.
  const profile = part === "clusterProfile" && remove.length > 0 ? { desired: undefined } : undefined;
  return { ...decide(part), remove, profile };
}

/** While there is no credential the profile stays as it is: there is another one soon, in the same Secret. */
function withProfile(
  decision: RegistrationDecision,
  cluster: Cluster,
  { key, basis }: ObservedRegistration,
): RegistrationDecision {
  const { part, outcome } = decision;
  if (part !== "clusterProfile" || outcome?.status !== "True" || basis === undefined) return decision;
  const desired = composeClusterProfile(cluster, basis, placeSecret(part, key, ""));
  const message = `${part}: the ClusterProfile ${cluster.metadata.name}.`;
  return { ...decision, profile: { desired }, outcome: { ...outcome, message } };
}

/** The worst of all parts, for one condition; undefined = no part is wanted. */
export function summarize(
  outcomes: readonly (RegistrationOutcome | undefined)[],
): RegistrationOutcome | undefined {
  const known = outcomes.filter((outcome) => outcome !== undefined);
  const worst = (["False", "Unknown"] as const)
    .map((status) => known.find((outcome) => outcome.status === status))
    .find((outcome) => outcome !== undefined);
  if (worst !== undefined || known.length === 0) return worst;
  return { status: "True", reason: "Registered", message: known.map(({ message }) => message).join(" ") };
}

const nothing = {
  remove: [],
  isRequest: false,
  publish: undefined,
  needsKey: false,
  profile: undefined,
  outcome: undefined,
  requeueAfterMs: undefined,
};

function decide(part: RegistrationPart): RegistrationDecision {
  return { part, ...nothing };
}

interface OwnObjects {
  secrets: readonly Secret[];
  /** Those that are not being deleted. */
  accesses: readonly ClusterAccess[];
}

function ownOf({ secrets, accesses }: ObservedRegistration, part: RegistrationPart): OwnObjects {
  return {
    secrets: secrets.filter(({ metadata }) => findRegistered(metadata)?.part === part),
    accesses: accesses.filter(
      (access) => access.metadata.labels?.[LABEL_REGISTRATION] === part && !isDeleting(access),
    ),
  };
}

function findProblem(
  { allowed, argoCDNamespace }: ObservedRegistration,
  part: RegistrationPart,
): { reason: string; message: string } | undefined {
  if (!allowed.has(part)) {
    const message = `The platform does not allow ${part} in this Namespace; ask the platform's operator.`;
    return { reason: "NotAllowed", message };
  }
  if (part !== "argoCDSecret" || argoCDNamespace !== undefined) return undefined;
  const message = "The platform has configured no namespace of Argo CD; ask the platform's operator.";
  return { reason: "ArgoCDNotConfigured", message };
}

function decideWanted(
  { key, basis, argoCDNamespace = "", hasKeyOf }: ObservedRegistration,
  part: RegistrationPart,
  cluster: Cluster,
  { secrets, accesses }: OwnObjects,
  now: Date,
): RegistrationDecision {
  const place = placeSecret(part, key, argoCDNamespace);
  if (basis === undefined) {
    const message = `The control plane of ${displayNameOf(cluster)} is not up yet; the credentials are issued as soon as it is.`;
    const outcome = { status: "Unknown", reason: "WaitingForControlPlane", message } as const;
    return { ...decide(part), needsKey: true, outcome };
  }
  const isCurrent = (one: Secret) =>
    toKey(one.metadata.namespace, one.metadata.name) === toKey(place.namespace, place.name) &&
    isOf(one, part, cluster, basis.clusterId);
  const secret = secrets.find(isCurrent);
  const former = secrets.filter((one) => one !== secret).map(planRemoval);
  const held = secret && readRegistered(secret, basis);
  const current = accesses.find(({ metadata }) => metadata.name === held?.access);
  const isGood =
    held?.isIntact === true && current !== undefined && isIssued(current) && isLive(current, now);
  const registered = {
    status: "True",
    reason: "Registered",
    message: `${part}: ${describeSecret(part, place)}.`,
  } as const;
  if (isGood && held.renewAt > now) {
    const others = accesses.filter((access) => access !== current);
    const overlapMs = held.issuedAt.getTime() + OVERLAP_MS - now.getTime();
    const isOver = overlapMs <= 0;
    return {
      ...decide(part),
      remove: [...former, ...(isOver ? others.map(planRemoval) : [])],
      outcome: registered,
      requeueAfterMs: others.length > 0 && !isOver ? overlapMs : held.renewAt.getTime() - now.getTime(),
    };
  }
  const awaited = { ...decide(part), needsKey: true };
  // One that is still good stays until the next is there.
  const waiting = (reason: string, message: string) =>
    isGood ? registered : ({ status: "Unknown", reason, message } as const);
  const requested = accesses.find(({ metadata }) => hasKeyOf(metadata.name));
  if (requested === undefined) {
    // What an earlier process asked for: its private key went with that process.
    const lost = accesses.filter((access) => access !== current).map(planRemoval);
    const outcome = waiting("Issuing", `The credential of ${part} is being issued.`);
    return { ...awaited, remove: [...former, ...lost], isRequest: true, outcome };
  }
  if (isIssued(requested)) return { ...awaited, remove: former, publish: requested, outcome: registered };
  const { reason, message } = findCondition(requested.status?.conditions, "Ready") ?? {
    reason: "Issuing",
    message: `The credential of ${part} is being issued.`,
  };
  const isStalled = findCondition(requested.status?.conditions, "Stalled")?.status === "True";
  const outcome = isStalled ? ({ status: "False", reason, message } as const) : waiting(reason, message);
  return { ...awaited, remove: former, outcome };
}

function planRemoval(object: Secret | ClusterAccess): Step {
  const { namespace = "", name, uid } = object.metadata;
  const kind = ("spec" in object ? clusterAccessKind : secretKind) as Kind<KubeObject>;
  return { verb: "delete", kind, namespace, name, uid };
}
