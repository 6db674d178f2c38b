import { idOf } from "../../../shared/crd/identity.ts";
import { ANNOTATION_REQUEST_ID } from "../../../shared/crd/names.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";
import type { WriteIntent } from "../table.ts";

/**
 * Which of the pending intents of one object have had their effect, from the current object or the last observed one: a
 * creation when an object with this id exists or existed, a deletion when it is being deleted or does not exist, a
 * change when the object carries its request id, or when a later change built on it.
 */
export function findWritten(
  intents: readonly WriteIntent[],
  { live, lastSeen }: { live: KubeObject | undefined; lastSeen: KubeObject | undefined },
): WriteIntent[] {
  const written = intents.filter((intent) => {
    if (intent.verb === "delete")
      return live?.metadata.uid !== intent.uid || live?.metadata.deletionTimestamp !== undefined;
    if (intent.verb === "change") return false;
    return [live, lastSeen].some((object) => object !== undefined && idOf(object) === intent.objectId);
  });
  return [...written, ...findChanges(intents, live ?? lastSeen)];
}

function findChanges(intents: readonly WriteIntent[], object: KubeObject | undefined): WriteIntent[] {
  const open = intents.filter(({ verb, uid }) => verb === "change" && uid === object?.metadata.uid);
  const written: WriteIntent[] = [];
  let version = object?.metadata.resourceVersion ?? null;
  let requestId = object?.metadata.annotations?.[ANNOTATION_REQUEST_ID] ?? null;
  for (;;) {
    const index = open.findIndex(
      (intent) => intent.requestId === requestId && intent.resourceVersion !== version,
    );
    const [found] = index < 0 ? [] : open.splice(index, 1);
    if (found === undefined) return written;
    written.push(found);
    ({ resourceVersion: version, previousRequestId: requestId } = found);
  }
}
