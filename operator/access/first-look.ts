import { RENEW_AFTER_MS } from "./admin-kubeconfig.ts";

/** The tenant's API may lose the binding (a restore): looked at again this often. */
export const BINDING_CHECK_MS = 10 * 60_000;
/** A first look costs about 10 ms of processor, with the certificate for it: this much apart, a fifth of a core. */
const APART_MS = 50;

/**
 * How long the first look of a new process into a tenant's API may wait, so that not all of a large fleet come at once; 0
 * for a kubeconfig so young that its issuer may have ended before it was bound. `random` is from 0 to 1.
 */
export function delayFirstLook(renewInMs: number, clusters: number, random: number): number {
  const isYoung = renewInMs > RENEW_AFTER_MS - BINDING_CHECK_MS;
  return isYoung ? 0 : Math.floor(random * Math.min(clusters * APART_MS, BINDING_CHECK_MS));
}
