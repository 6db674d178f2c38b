/** A reason not to start that a person can act on: its message is the whole sentence to print, without a stack. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** The text of anything thrown, for a sentence. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
