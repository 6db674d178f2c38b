import { RENEW_AFTER_MS } from "../admin-kubeconfig/kubeconfig.ts";

/** The tenant's API may lose the binding (a restore): checked this often. */
export const BINDING_CHECK_MS = 10 * 60_000;
/** An initial check with its certificate costs about 10 ms of CPU: at this interval a fifth of a core. */
const INTERVAL_MS = 50;

/**
 * By how many ms a new process delays its initial check of a tenant's API, so that a large fleet is not checked at once; 0
 * for a kubeconfig so new that its issuer may have ended before it was bound. `random` is from 0 to 1.
 */
export function delayInitialCheck(renewInMs: number, clusters: number, random: number): number {
  const isNew = renewInMs > RENEW_AFTER_MS - BINDING_CHECK_MS;
  return isNew ? 0 : Math.floor(random * Math.min(clusters * INTERVAL_MS, BINDING_CHECK_MS));
}
