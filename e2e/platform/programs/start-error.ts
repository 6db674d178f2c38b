/** A failed start that the user can act on: its message is a full sentence, printed without a stack trace. */
export class StartError extends Error {
  override readonly name = "StartError";
}
