import { MANAGER_APISERVER, PACKAGES_CONFIG_MAP, PACKAGES_KEY } from "../../../shared/crd/names.ts";
import {
  type ClassCapabilitiesByPlan,
  findUnsupportedReason,
  type Packages,
} from "../../../shared/crd/published-config.ts";
import { configMapKind } from "../../../shared/kube/core-kinds.ts";
import { messageOf } from "../../../shared/program/errors.ts";
import { recordAudit } from "../../audit/index.ts";
import { toActor } from "../../audit/record.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import type { Author } from "../../http/authentication/principal.ts";
import { type ErrorDetail, invalidField, notFound } from "../../http/errors.ts";
import { findPlanCapabilities } from "../../resources/platform-config.ts";
import { markAllDue } from "../budgets/store.ts";
import { effectiveAfter } from "../month.ts";
import { auditPackage } from "./present.ts";
import {
  insertPackageTerms,
  lockPackages,
  type Package,
  type PackageTerms,
  readPackage,
  readPackages,
  readRetirements,
  sharePackages,
} from "./store.ts";

interface PackageUpdate {
  slug: string;
  terms: Package;
  /** The terms in force, as read under their lock. */
  before: PackageTerms;
  now: () => Date;
}

/** The terms in force; those of all packages are locked until the transaction ends. Throws 404. */
export async function lockPackage(tx: Queryable, slug: string): Promise<PackageTerms> {
  await lockPackages(tx);
  return requirePackage(tx, slug);
}

/** Sets the terms of a package from now on; changes follow each other. */
export async function setPackage(
  tx: Queryable,
  author: Author,
  { slug, terms, before, now }: PackageUpdate,
): Promise<PackageTerms> {
  const effectiveFrom = effectiveAfter(before.effectiveFrom, now());
  await insertPackageTerms(tx, { slug, ...terms, effectiveFrom, changedBy: toActor(author) });
  await markAllDue(tx, now());
  await recordAudit(tx, author, {
    action: "plan.update",
    orgId: null,
    target: { kind: "plan", id: slug },
    before: auditPackage(before),
    after: auditPackage(terms),
    result: "done",
  });
  return requirePackage(tx, slug);
}

/** The terms in force. Throws 404. */
export async function requirePackage(db: Queryable, slug: string): Promise<PackageTerms> {
  const found = await readPackage(db, slug);
  if (found === undefined) throw notFound("plan");
  return found;
}

/**
 * Until the end of the transaction the package is one that a new cluster can have. Throws 422 for one that is unknown
 * or retired, with those that can be chosen.
 */
export async function requireOffered(
  tx: Queryable,
  slug: string,
  published: ClassCapabilitiesByPlan,
): Promise<void> {
  await sharePackages(tx);
  const offered = await listOffered(tx);
  if (offered.includes(slug)) return;
  const { names, canBeLeftOut } = findChoice(offered, published);
  if (names.length === 0 && !canBeLeftOut) {
    const message = "must be another plan, of which none is available; ask the platform's operator";
    throw invalidField("plan", "invalid_enum", message);
  }
  const choice = [...names, ...(canBeLeftOut ? ["left out"] : [])];
  throw invalidField("plan", "invalid_enum", `must be ${formatChoice(choice)}`);
}

/** The detail of a plan that no class can make, whose cluster would wait without end; it names those that can be chosen. */
export async function findUnavailablePlan(
  db: Queryable,
  slug: string | null | undefined,
  published: ClassCapabilitiesByPlan,
): Promise<ErrorDetail[]> {
  const reason = findUnavailableReason(published, slug);
  if (reason === undefined) return [];
  const { names, canBeLeftOut } = findChoice(await listOffered(db), published);
  const choice = [...names, ...(canBeLeftOut ? ["none"] : [])];
  const advice = choice.length === 0 ? "" : `choose ${formatChoice(choice)}, or `;
  const message = `is not available; ${advice}ask the platform's operator ("${reason}")`;
  return [{ field: "plan", code: "unsupported", message }];
}

async function listOffered(db: Queryable): Promise<string[]> {
  return (await readPackages(db)).filter(({ retired }) => !retired).map(({ slug }) => slug);
}

function findUnavailableReason(
  published: ClassCapabilitiesByPlan,
  slug: string | null | undefined,
): string | undefined {
  return findUnsupportedReason(findPlanCapabilities(published, slug)?.class);
}

/** What is on offer and not known to have no class. */
function findChoice(offered: readonly string[], published: ClassCapabilitiesByPlan) {
  const names = offered.filter((name) => findUnavailableReason(published, name) === undefined);
  return { names, canBeLeftOut: findUnavailableReason(published, undefined) === undefined };
}

function formatChoice(choice: readonly string[]): string {
  return [choice.slice(0, -1).join(", "), ...choice.slice(-1)].filter((part) => part !== "").join(" or ");
}

const REQUEST_TIMEOUT_MS = 2000;

type PublishDeps = Pick<Deps, "kube" | "db" | "config" | "log">;

/** Publishes the packages within 2 s; otherwise the periodic job does it. Does not throw. */
export async function publishPackagesSoon(deps: PublishDeps): Promise<void> {
  try {
    await publishPackages(deps, { timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    const message = messageOf(error);
    deps.log.warn({ message }, "the packages are not published yet; the job retries");
  }
}

/** Writes the ConfigMap that the operator reads, unless it is as it should be. Rejects with a KubeError. */
export async function publishPackages(
  { kube, db, config, log }: PublishDeps,
  options: { timeoutMs?: number; signal?: AbortSignal },
): Promise<void> {
  const namespace = config.platformNamespace;
  const text = JSON.stringify(await composePackages(db));
  const live = await kube.get(configMapKind, namespace, PACKAGES_CONFIG_MAP, options);
  if (live?.data?.[PACKAGES_KEY] === text) return;
  const desired = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: PACKAGES_CONFIG_MAP, namespace },
    data: { [PACKAGES_KEY]: text },
  };
  await kube.apply(configMapKind, desired, { fieldManager: MANAGER_APISERVER, force: true, ...options });
  log.info("published the packages");
}

async function composePackages(db: Deps["db"]): Promise<Packages> {
  const retirements = await readRetirements(db);
  const entries = (await readPackages(db)).map(({ slug, controlPlaneReplicas }) => {
    const retiredAt = retirements.get(slug)?.toISOString();
    return [slug, { controlPlaneReplicas, ...(retiredAt && { retiredAt }) }] as const;
  });
  return Object.fromEntries(entries);
}
