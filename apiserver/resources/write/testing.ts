import { createId } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import { requireFreeName } from "./intents.ts";

/** Whether a new cluster of an organization may have this name. */
export async function isNameFree(db: Queryable, orgId: string, name: string): Promise<boolean> {
  const clusters = {
    noun: "cluster",
    parent: { noun: "organization", id: orgId },
    takenNameCode: "already_exists",
  } as const;
  try {
    await requireFreeName(db, clusters, name, createId());
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
