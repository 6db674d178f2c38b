import { findOwnerName } from "../capi-kinds.ts";
import type { Context } from "../context.ts";
import type { LocalBootstrap } from "../kinds.ts";
import type { ObservedBootstrap } from "./reconcile.ts";

/** Everything that a LocalBootstrap depends on. */
export async function observeBootstrap(
  _context: Context,
  object: LocalBootstrap,
): Promise<ObservedBootstrap> {
  return { object, ownerName: findOwnerName(object.metadata, "Machine"), now: new Date() };
}
