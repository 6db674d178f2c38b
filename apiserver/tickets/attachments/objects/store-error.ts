/** Why the store of attachments did not do what it was asked to. */
export type StoreFailure =
  | "unconfigured"
  | "unreachable"
  | "timeout"
  | "no_credentials"
  | "bucket_missing"
  | "refused"
  | "failed";

/** The store of attachments cannot be used right now. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
