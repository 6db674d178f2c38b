import type { Namespace } from "../kube/core-kinds.ts";
import { findOldest } from "../kube/object.ts";
import type { Change } from "../kube/reflector.ts";
import { findSharing, type Store } from "../kube/store.ts";
import { LABEL_ORG_ID } from "./names.ts";

/** Who a namespace belongs to. */
export type Organization =
  | { kind: "known"; id: string }
  | { kind: "unknown" }
  /** An older Namespace has the same label; `namespace` is its name. */
  | { kind: "duplicate"; namespace: string };

/** Name of the index by which a store of Namespaces finds them by organization. */
export const INDEX_ORGANIZATION = "organization";

/** Indexes Namespaces by the organization in their label. */
export function indexByOrganization({ metadata }: Namespace): string[] {
  const id = metadata.labels?.[LABEL_ORG_ID];
  return id === undefined ? [] : [id];
}

/** The organization of a namespace, by its label. Of several Namespaces with the same label only the oldest counts. */
export function findNamespaceOrganization(
  namespaces: Pick<Store<Namespace>, "get" | "byIndex">,
  namespace = "",
): Organization {
  const own = namespaces.get(namespace);
  const id = own?.metadata.labels?.[LABEL_ORG_ID];
  if (own === undefined || id === undefined) return { kind: "unknown" };
  const oldest = findOldest(namespaces.byIndex(INDEX_ORGANIZATION, id))?.metadata.name ?? namespace;
  return oldest === namespace ? { kind: "known", id } : { kind: "duplicate", namespace: oldest };
}

/** The names of the Namespaces of which a change of one may decide whose they are: its own, and those with the same label. */
export function listConcernedNamespaces(
  namespaces: Pick<Store<Namespace>, "byIndex">,
  change: Change<Namespace>,
): string[] {
  const others = findSharing(namespaces, INDEX_ORGANIZATION, indexByOrganization, change);
  return [change.object, ...others].map(({ metadata }) => metadata.name);
}
