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
