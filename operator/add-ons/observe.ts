import { isDeepStrictEqual } from "node:util";
import { isInSync, withAppliedHash } from "../../shared/controller/applied.ts";
import { ANNOTATION_APPLIED, LABEL_ADD_ON } from "../../shared/crd/names.ts";
import { findNamespaceOrganization } from "../../shared/crd/organization.ts";
import type { ConfigMap, Namespace, Secret } from "../../shared/kube/core-kinds.ts";
import { apiVersionOf, type KubeObject } from "../../shared/kube/kind.ts";
import { toKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import type { Caches } from "../caches.ts";
import {
  type AddOnResource,
  type ClusterResourceSet,
  type ClusterResourceSetBinding,
  clusterResourceSetKind,
  selectsCluster,
} from "../capi/add-ons.ts";
import { type Copied, digestOf, isCopy, markOfCopy } from "../copies/copy.ts";
import type { OwnCapi } from "../identity/ownership.ts";
import { INDEX_NAMESPACE } from "../indexes.ts";

/** All that is known about the add-ons in one Namespace of an organization: plain data, no client. */
export interface ObservedAddOns {
  namespace: Namespace;
  /** The sets that the classes of its clusters name, by name: as they are in the Namespace of their class. */
  wanted: ReadonlyMap<string, ClusterResourceSet>;
  /** The sets ("namespace/name") that they name and that cannot be copied, with what is in their way: `ConfigMap cilium`. */
  taken: ReadonlyMap<string, readonly string[]>;
  /** The class of some cluster is not there, so that the sets that it names are unknown. */
  hasUnknownClass: boolean;
  /** Here, by name: copies and others. */
  sets: ReadonlyMap<string, ClusterResourceSet>;
  configMaps: ObservedManifests<ConfigMap>;
  secrets: ObservedManifests<Secret>;
}

export interface ObservedManifests<T extends Copied> {
  /** Those that the sets name, by name. */
  sources: ReadonlyMap<string, T>;
  /** Here, by name. */
  copies: ReadonlyMap<string, T>;
}

/** Gathers it from the caches; undefined for a Namespace that is deleted or of no organization. */
export function observeAddOns(caches: Caches, key: string): ObservedAddOns | undefined {
  const namespace = caches.namespaces.get(key);
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return undefined;
  if (findNamespaceOrganization(caches.namespaces, key).kind !== "known") return undefined;
  const classes = listClasses(caches, key);
  const { wanted, taken } = chooseAddOns(caches, classes);
  const resources = [...wanted.values()].flatMap((set) => listManifests(set));
  return {
    namespace,
    wanted,
    taken,
    hasUnknownClass: [...classes.keys()].some((classKey) => !caches.readClasses().has(classKey)),
    sets: byName(caches.resourceSets.byIndex(INDEX_NAMESPACE, key)),
    configMaps: observeManifests(caches.addOnConfigMaps, key, resources, "ConfigMap"),
    secrets: observeManifests(caches.addOnSecrets, key, resources, "Secret"),
  };
}

/** The classes of the clusters in a Namespace, by "namespace/name"; without those of the Namespace itself, of which nothing is copied. */
function listClasses(
  caches: Pick<Caches, "capiClusters">,
  key: string,
): ReadonlyMap<string, { namespace: string }> {
  const classes = caches.capiClusters.byIndex(INDEX_NAMESPACE, key).flatMap(({ spec }) => {
    const { namespace = key, name = "" } = spec?.topology?.classRef ?? {};
    return namespace === key ? [] : [[toKey(namespace, name), { namespace }] as const];
  });
  return new Map(classes.sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** When Namespaces of classes have a set, or a manifest, of one name, the first has it copied: a Namespace holds one. */
function chooseAddOns(
  caches: Pick<Caches, "readClasses" | "resourceSets">,
  classes: ReturnType<typeof listClasses>,
): Pick<ObservedAddOns, "wanted" | "taken"> {
  const wanted = new Map<string, ClusterResourceSet>();
  const taken = new Map<string, string[]>();
  const namespaceOf = new Map<string, string>();
  for (const [classKey, { namespace }] of classes)
    for (const name of readAddOns(caches, classKey)) {
      const source = caches.resourceSets.get(toKey(namespace, name));
      if (source === undefined) continue;
      const parts = [{ kind: clusterResourceSetKind.kind, name }, ...listManifests(source)].map(describePart);
      const inWay = parts.filter((part) => (namespaceOf.get(part) ?? namespace) !== namespace);
      if (inWay.length > 0) taken.set(toKey(namespace, name), inWay);
      else {
        wanted.set(name, source);
        for (const part of parts) namespaceOf.set(part, namespace);
      }
    }
  return { wanted, taken };
}

/** An object as conditions name it: `ConfigMap cilium`. */
export function describePart({ kind, name }: { kind: string; name: string }): string {
  return `${kind} ${name}`;
}

function observeManifests<T extends Copied>(
  store: Store<T>,
  namespace: string,
  resources: readonly (AddOnResource & { namespace: string })[],
  kind: AddOnResource["kind"],
): ObservedManifests<T> {
  const named = resources.filter((resource) => resource.kind === kind);
  const found = named.flatMap((resource) => store.get(toKey(resource.namespace, resource.name)) ?? []);
  const here = store.byIndex(INDEX_NAMESPACE, namespace).filter((one) => isCopy(one, LABEL_ADD_ON));
  return { sources: byName(found), copies: byName(here) };
}

/** The names of the sets that a class names; of a class that is not there none. */
function readAddOns(caches: Pick<Caches, "readClasses">, classKey: string): readonly string[] {
  return caches.readClasses().get(classKey)?.addOns ?? [];
}

/** What a set has Cluster API apply, with the Namespace that it is in. */
export function listManifests({
  metadata,
  spec,
}: ClusterResourceSet): (AddOnResource & { namespace: string })[] {
  const namespace = metadata.namespace ?? "";
  return (spec?.resources ?? []).map((resource) => ({ ...resource, namespace }));
}

function byName<T extends KubeObject>(objects: readonly T[]): Map<string, T> {
  return new Map(objects.map((object) => [object.metadata.name, object]));
}

/** What is applied of a set in the Namespace of an organization. */
export function composeSetCopy(
  { metadata, spec }: ClusterResourceSet,
  namespace: string,
): ClusterResourceSet {
  const copy: ClusterResourceSet = {
    apiVersion: apiVersionOf(clusterResourceSetKind),
    kind: clusterResourceSetKind.kind,
    metadata: { name: metadata.name, namespace, labels: markOfCopy(LABEL_ADD_ON) },
    ...(spec && { spec }),
  };
  return withAppliedHash(copy, ANNOTATION_APPLIED);
}

/** Whether the copy of this set is there as it is now. */
function isSetCopied(source: ClusterResourceSet, live: ClusterResourceSet | undefined): boolean {
  return live !== undefined && isInSync(composeSetCopy(source, live.metadata.namespace ?? ""), live);
}

/** The sets ("namespace/name") of classes that cannot be copied, with what is in their way: `ConfigMap cilium`. */
type Obstacles = ReadonlyMap<string, readonly string[]>;

/** Keeps what is in the way of add-ons in each Namespace of an organization: an object that is no copy is in no cache. */
export interface AddOnObstacles {
  /** Undefined = this process has not looked yet, or no add-on is copied there. */
  find(namespace: string): Obstacles | undefined;
  record(namespace: string, obstacles: Obstacles): void;
  forget(namespace: string): void;
}

/** `onChange` is called when what is in the way in a Namespace is known for the first time, or is another. */
export function createAddOnObstacles(onChange: (namespace: string) => void): AddOnObstacles {
  const known = new Map<string, Obstacles>();
  return {
    find: (namespace) => known.get(namespace),
    record(namespace, obstacles) {
      const isKnown = isDeepStrictEqual(known.get(namespace), obstacles);
      known.set(namespace, obstacles);
      if (!isKnown) onChange(namespace);
    },
    forget(namespace) {
      known.delete(namespace);
    },
  };
}

/** How far one add-on of the class of a cluster is. */
export interface AddOnState {
  name: string;
  /** Unknown: what may be in its way has not been looked for yet. */
  state: "missing" | "without-manifests" | "foreign" | "unknown" | "waiting" | "failed" | "applied";
  /** The manifests that are missing, in the way or not applied: `ConfigMap cilium`. */
  manifests: readonly string[];
}

/** Those of the class that select the cluster, by what the caches show; a set that is not there may have selected it. */
export function observeAddOnStates(
  caches: Caches,
  key: string,
  capi: OwnCapi | undefined,
  obstacles: Obstacles | undefined,
): readonly AddOnState[] {
  const { classRef } = capi?.state ?? {};
  if (capi === undefined || classRef === undefined) return [];
  const { namespace = "", labels = {} } = capi.object.metadata;
  const binding = caches.resourceSetBindings.get(key);
  const names = readAddOns(caches, toKey(classRef.namespace, classRef.name));
  return names.flatMap((name): AddOnState[] => {
    const source = caches.resourceSets.get(toKey(classRef.namespace, name));
    if (source === undefined) return [{ name, state: "missing", manifests: [] }];
    if (!selectsCluster(source.spec?.clusterSelector ?? {}, labels)) return [];
    const inWay = obstacles?.get(toKey(classRef.namespace, name));
    if (inWay !== undefined) return [{ name, state: "foreign", manifests: inWay }];
    const found = readState(caches, { source, namespace, binding });
    // In the Namespace of the class nothing is copied.
    const isCopied = classRef.namespace !== namespace;
    const isUnknown = isCopied && found.state === "waiting" && obstacles === undefined;
    return [{ name, ...found, ...(isUnknown && { state: "unknown" }) }];
  });
}

interface Found {
  source: ClusterResourceSet;
  /** The cluster's. */
  namespace: string;
  binding: ClusterResourceSetBinding | undefined;
}

function readState(caches: Caches, { source, namespace, binding }: Found): Omit<AddOnState, "name"> {
  const { name } = source.metadata;
  const find = (kind: AddOnResource["kind"], at: string, of: string) =>
    (kind === "Secret" ? caches.addOnSecrets : caches.addOnConfigMaps).get(toKey(at, of));
  const manifests = listManifests(source).map((one) => {
    const applied = binding?.spec?.bindings
      ?.find((set) => set.clusterResourceSetName === name)
      ?.resources?.find((resource) => resource.kind === one.kind && resource.name === one.name);
    const copy = find(one.kind, namespace, one.name);
    const text = describePart(one);
    return { text, from: find(one.kind, one.namespace, one.name), copy, applied };
  });
  const absent = manifests.filter(({ from }) => from === undefined);
  if (absent.length > 0) return { state: "without-manifests", manifests: absent.map(({ text }) => text) };
  const live = caches.resourceSets.get(toKey(namespace, name));
  // In the Namespace of the class Cluster API applies the set itself.
  const isSource = source.metadata.namespace === namespace;
  if (live !== undefined && !isSource && !isCopy(live, LABEL_ADD_ON))
    return { state: "foreign", manifests: [describePart({ kind: clusterResourceSetKind.kind, name })] };
  const failed = manifests.filter(({ applied }) => applied?.applied === false);
  if (failed.length > 0) return { state: "failed", manifests: failed.map(({ text }) => text) };
  const isOnce = source.spec?.strategy !== "Reconcile";
  const isCurrent = manifests.every(({ from, copy, applied }) => {
    if (from === undefined || copy === undefined || digestOf(from) !== digestOf(copy)) return false;
    return applied?.applied === true && (isOnce || applied.hash === digestOf(copy));
  });
  const isThere = isSource || isSetCopied(source, live);
  return { state: isCurrent && isThere ? "applied" : "waiting", manifests: [] };
}
