/** An error whose message alone says what is wrong and what to do: a program that ends by it prints no stack. */
export class ExplainedError extends Error {
  override readonly name: string = "ExplainedError";
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
