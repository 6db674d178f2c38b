import type { KubeObject } from "../../../shared/kube/kind.ts";
import type { Queryable } from "../../db/client.ts";
import { ApiError, invalidField } from "../../http/errors.ts";
import { isNameInFlight, releaseName, reserveName } from "../project/index.ts";
import type { ObjectRef, Resource } from "./resource.ts";

const IN_FLIGHT_RETRY_SECONDS = 10;

/** Something scarce that a write takes before it is made: a name, a part of a quota. */
export interface Reservation {
  /** Takes it, in the transaction that commits the intent. Throws the refusal when it cannot be had. */
  take: (tx: Queryable) => Promise<unknown>;
  /** The object was written: releases what the object itself holds from now on. */
  complete: (tx: Queryable) => Promise<unknown>;
  /** The write had no effect: releases everything. */
  release: (tx: Queryable) => Promise<unknown>;
}

/**
 * Reserves a name that is unique in the parent, letter case aside. A write that was not confirmed keeps it until its lease
 * ends. Taking it throws 409 already_exists or 422 validation_failed, as the resource says, and 409 operation_in_progress while
 * another request writes an object of that name.
 */
export function createNameReservation<T extends KubeObject, P extends ObjectRef>(
  { noun, parent, takenNameCode }: Pick<Resource<T, P>, "noun" | "parent" | "takenNameCode">,
  name: string,
  objectId: string,
): Reservation {
  return {
    async take(tx) {
      if (await reserveName(tx, parent.id, name, objectId)) return;
      if (await isNameInFlight(tx, parent.id, name))
        throw new ApiError("operation_in_progress", `A ${noun} named ${name} is being written right now.`, {
          retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS,
        });
      const message = `is taken: the ${parent.noun} already has a ${noun} of this name; choose another one`;
      if (takenNameCode === "validation_failed") throw invalidField("name", "duplicate", message);
      throw new ApiError(takenNameCode, `The ${parent.noun} already has a ${noun} named ${name}.`, {
        details: [{ field: "name", code: "duplicate", message }],
      });
    },
    // The projection makes the name the object's own.
    complete: async () => undefined,
    release: (tx) => releaseName(tx, parent.id, name, objectId),
  };
}
