import { adviseForRest } from "../../../shared/crd/advice.ts";
import { withWireNames } from "../../../shared/crd/wire-names.ts";

/** The namespace of an organization, which REST does not show. */
const NAMESPACE = /\borg-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** A message of the operator as REST writes it: with its advice for REST, its names of settings, and without namespaces. */
export function toRestWords(message: string): string {
  return withWireNames(adviseForRest(message)).replaceAll(NAMESPACE, "another place");
}

/** `2026-11-21T09:00:00Z`: how Kubernetes writes every metav1.Time. */
const SECONDS_LENGTH = 20;

/**
 * A time of a custom resource (RFC 3339) as the interface writes it, in UTC with milliseconds; null for none. The form
 * that Kubernetes itself writes is not parsed: a page of 50 clusters has some hundred of them.
 */
export function toTimestamp(time: string | undefined): string | null {
  if (time === undefined) return null;
  if (time.length === SECONDS_LENGTH && time.endsWith("Z")) return `${time.slice(0, -1)}.000Z`;
  return new Date(time).toISOString();
}
