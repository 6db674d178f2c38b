/** RFC 3339 with microseconds, the form of metav1.MicroTime. */
export function microTime(at: Date = new Date()): string {
  return at.toISOString().replace("Z", "000Z");
}
