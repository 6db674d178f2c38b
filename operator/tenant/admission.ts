import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { KubeError } from "../../shared/kube/errors.ts";
import type { TenantClient } from "../../shared/tenant/tenant-client.ts";

/** A user of a tenant cluster, as its API server sees one. */
export interface TenantUser {
  user: string;
  groups: readonly string[];
}

/** The API server of a tenant does not let a user do what it was bound to. */
export class NotAdmittedError extends Error {}

/** An API server knows of a new binding within milliseconds. */
const ADMITTED_WITHIN_MS = 3_000;
const POLL_MS = 100;
const PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

/**
 * Resolves once the tenant's API server lets the user do everything, as it says in a SubjectAccessReview; one that has
 * no such reviews is not asked. Rejects with a NotAdmittedError after `withinMs`, and with the KubeError of that
 * server.
 */
export async function waitUntilAdmitted(
  tenant: TenantClient,
  user: TenantUser,
  withinMs = ADMITTED_WITHIN_MS,
): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  while (!(await isAdmitted(tenant, user))) {
    if (performance.now() > deadlineMs) throw new NotAdmittedError(`${user.user} is not admitted`);
    await sleep(POLL_MS);
  }
}

async function isAdmitted(tenant: TenantClient, user: TenantUser): Promise<boolean> {
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { ...user, resourceAttributes: { group: "*", resource: "*", verb: "*" } },
  };
  try {
    const { status } = await tenant.send("POST", PATH, review, reviewSchema);
    return status.allowed;
  } catch (error) {
    if (error instanceof KubeError && error.isNotFound) return true;
    throw error;
  }
}
