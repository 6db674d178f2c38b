import { ApiError } from "../errors.ts";

/** Counts the bytes of all bodies of this process that have begun to arrive and are not yet parsed. */
export interface BodyBudget {
  /** Opens the account of one body. */
  open(): BodyAccount;
}

export interface BodyAccount {
  /** Counts bytes before they are kept. Throws 503 with Retry-After when those of all bodies exceed the budget. */
  add(bytes: number): void;
  /** Gives back what was counted, once the body is parsed or refused. */
  close(): void;
}

/** A budget of `maxBytes` for one process, so that slow clients cannot fill its memory with unfinished bodies. */
export function createBodyBudget(maxBytes: number): BodyBudget {
  let total = 0;
  return {
    open() {
      let own = 0;
      return {
        add(bytes) {
          if (total + bytes > maxBytes) throw noRoom();
          own += bytes;
          total += bytes;
        },
        close() {
          total -= own;
          own = 0;
        },
      };
    },
  };
}

/** The rest of the body is not read, so the connection cannot carry another request. */
function noRoom(): ApiError {
  return new ApiError("dependency_unavailable", "Too many request bodies are arriving at once; try again.", {
    retryAfterSeconds: 1,
    headers: { Connection: "close" },
  });
}
