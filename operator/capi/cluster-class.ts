import { objectKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import type { CapiHealthCheck, ClusterClass } from "./kinds.ts";

/** On a ClusterClass: `requested-only` says that its infrastructure may ignore the authorized CIDRs without a word. */
const ANNOTATION_AUTHORIZED_CIDRS_MODE = "cloud.marina.dev/authorized-cidrs-enforcement";
/** On a ClusterClass: `ipv4` says that its infrastructure leaves networks of any other family out of the authorized CIDRs. */
const ANNOTATION_AUTHORIZED_CIDRS_FAMILIES = "cloud.marina.dev/authorized-cidrs-families";
/**
 * On a ClusterClass: the names of the ClusterResourceSets of its Namespace that its clusters get, separated by commas.
 */
const ANNOTATION_ADD_ONS = "cloud.marina.dev/cluster-resource-sets";
/**
 * On a ClusterClass: `per-namespace` says that its provider neither makes nor finds anything by the cluster's name alone.
 */
const ANNOTATION_NAMES = "cloud.marina.dev/infrastructure-names";

/** What a ClusterClass supports, and so what Marina may send it. */
export interface ClassCapabilities {
  variables: ReadonlySet<string>;
  /** The longest list of networks that it takes, those of platform and workers included; undefined = any. */
  maxAuthorizedCIDRs: number | undefined;
  /** Whether only IPv4 networks of that list would be in force. */
  hasIPv4CIDRsAlone: boolean;
  /**
   * Whether its infrastructure may ignore that list without a word, so that nothing shows that the list is in force.
   */
  mayIgnoreAuthorizedCIDRs: boolean;
  /**
   * Whether two clusters of one name in different Namespaces share nothing of the infrastructure. A class that does not
   * declare it may not have them: their provider could take over or delete what is the other's.
   */
  hasNamesPerNamespace: boolean;
  /** The class of workers that every pool uses: the first that the ClusterClass lists. */
  workerClass: string | undefined;
  /** The health check of that class; undefined = it has none. */
  workerHealthCheck: CapiHealthCheck | undefined;
  /** The control plane runs on machines of Cluster API; any other kind has no field for how they are deleted. */
  controlPlaneMachines: boolean;
  /** Versions (with `v`) that the class chains by itself; empty = one minor per step. */
  kubernetesVersions: readonly string[];
  /** The names of the ClusterResourceSets that its clusters get. */
  addOns: readonly string[];
}

/** The capabilities of the classes, by "namespace/name". */
export type ClassLookup = ReadonlyMap<string, ClassCapabilities>;

/** Reads what the installed classes can do, once for each version of one: every reconcile of a cluster needs it. */
export function createClassReader(store: Pick<Store<ClusterClass>, "list">): () => ClassLookup {
  let known: readonly ClusterClass[] = [];
  let lookup: ClassLookup = new Map();
  return () => {
    const classes = store.list();
    const isSame = classes.length === known.length && classes.every((one, index) => one === known[index]);
    if (isSame) return lookup;
    known = classes;
    lookup = new Map(classes.map((one) => [objectKey(one), readClusterClass(one)]));
    return lookup;
  };
}

/** Reads a ClusterClass. Variables of its patches and of its extensions count alike. */
export function readClusterClass(clusterClass: ClusterClass): ClassCapabilities {
  const { annotations } = clusterClass.metadata;
  const declared = [...(clusterClass.spec?.variables ?? []), ...(clusterClass.status?.variables ?? [])];
  const [workers] = clusterClass.spec?.workers?.machineDeployments ?? [];
  return {
    variables: new Set(declared.map((variable) => variable.name)),
    maxAuthorizedCIDRs: readLongestList(clusterClass),
    hasIPv4CIDRsAlone: annotations?.[ANNOTATION_AUTHORIZED_CIDRS_FAMILIES] === "ipv4",
    mayIgnoreAuthorizedCIDRs: annotations?.[ANNOTATION_AUTHORIZED_CIDRS_MODE] === "requested-only",
    hasNamesPerNamespace: annotations?.[ANNOTATION_NAMES] === "per-namespace",
    workerClass: workers?.class,
    workerHealthCheck: workers?.healthCheck,
    controlPlaneMachines: clusterClass.spec?.controlPlane?.machineInfrastructure !== undefined,
    kubernetesVersions: clusterClass.spec?.kubernetesVersions ?? [],
    addOns: readNames(annotations?.[ANNOTATION_ADD_ONS]),
  };
}

/** The list has to satisfy each definition: extensions of external patches have theirs in the status alone. */
function readLongestList({ spec, status }: ClusterClass): number | undefined {
  const isList = ({ name }: { name: string }) => name === "authorizedCIDRs";
  const found = (status?.variables ?? []).filter(isList).flatMap(({ definitions = [] }) => definitions);
  const lengths = [...(spec?.variables ?? []).filter(isList), ...found].flatMap(
    ({ schema }) => schema?.openAPIV3Schema?.maxItems ?? [],
  );
  return lengths.length === 0 ? undefined : Math.min(...lengths);
}

function readNames(list = ""): string[] {
  const names = list.split(",").map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ""))];
}
