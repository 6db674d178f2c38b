import type { Queryable } from "../db/client.ts";
import { type ProjectedCluster, type ProjectedNodePool, projectObservations } from "../projection/index.ts";

/** Brings the projection up to date with an object that was read or written: every replica serves it from then on. */
export async function saveProjection(
  tx: Queryable,
  object: ProjectedCluster | ProjectedNodePool,
  { gone }: { gone: boolean },
): Promise<void> {
  await projectObservations(tx, [{ object, gone }]);
}
