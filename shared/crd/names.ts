export const GROUP = "cloud.marina.dev";
export const VERSION = "v1";
export const API_VERSION = `${GROUP}/${VERSION}` as const;

/** Ids in labels are compared as text, so they have one spelling. A regular expression for TypeScript and CEL. */
export const UUID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

/** Public id (UUIDv7) of a Cluster, NodePool, ClusterAccess or StorageInventory; unlike the uid it survives a restore. */
export const LABEL_ID = "cloud.marina.dev/id";
/** The organization's id, on its Namespace `org-<id>` and on every object in it. */
export const LABEL_ORG_ID = "cloud.marina.dev/org-id";
export const LABEL_CLUSTER_ID = "cloud.marina.dev/cluster-id";
export const LABEL_NODE_POOL_ID = "cloud.marina.dev/node-pool-id";
/** On a ClusterAccess created by REST: its user, and the API token of the request, if any. */
export const LABEL_USER_ID = "cloud.marina.dev/user-id";
export const LABEL_API_TOKEN_ID = "cloud.marina.dev/api-token-id";
/** The version of that token, which rises when its secret is rotated. */
export const LABEL_API_TOKEN_VERSION = "cloud.marina.dev/api-token-version";
/** On a ClusterAccess created by REST: the attempt that made it; an attempt after a crash revokes those of earlier ones. */
export const LABEL_ATTEMPT_ID = "cloud.marina.dev/attempt-id";
/** On a ClusterAccess that the operator made for `spec.registration` of its cluster: the part of it. */
export const LABEL_REGISTRATION = "cloud.marina.dev/registration";
/** On a ClusterAccess: whose it is, and of which request. */
export const HOLDER_LABELS: readonly string[] = [
  LABEL_USER_ID,
  LABEL_API_TOKEN_ID,
  LABEL_API_TOKEN_VERSION,
  LABEL_ATTEMPT_ID,
  LABEL_CLUSTER_ID,
  LABEL_REGISTRATION,
];
/** The source of an Event: `operator`, `machine` or `hypervisor`. */
export const LABEL_SOURCE = "cloud.marina.dev/source";

/** The last REST request that changed the object; identifies a write whose response was lost. */
export const ANNOTATION_REQUEST_ID = "cloud.marina.dev/request-id";
/** The last request that set the network policy; its managedFields entry records the time of the change. */
export const ANNOTATION_NETWORK_REQUEST_ID = "cloud.marina.dev/network-request-id";
/** On a Cluster: the authorized CIDRs as REST was sent them, a JSON array; `spec` holds them masked and once. */
export const ANNOTATION_AUTHORIZED_CIDRS = "cloud.marina.dev/authorized-cidrs";
/** `replace.cloud.marina.dev/<node>: <request id>` on a NodePool requests the replacement of a node. */
export const ANNOTATION_REPLACE_PREFIX = "replace.cloud.marina.dev/";

/** `"true"` on a Cluster restored from a backup: the node pools that were not restored with it are deleted. */
export const ANNOTATION_DELETE_MISSING_POOLS = "cloud.marina.dev/delete-missing-node-pools";

/**
 * What Marina's API server says of the id of an object that came with one: `known` or `new` and the object's uid, or `refused`
 * (identity.ts); of a ClusterAccess perhaps its end, too (cluster-access.ts). `new` alone: REST creates the object with its id.
 */
export const ANNOTATION_IDENTITY = "cloud.marina.dev/identity";
/** On a Cluster: the platform's reason for which it may not be deleted. */
export const ANNOTATION_HOLD = "cloud.marina.dev/hold";
/** On a Cluster whose infrastructure was lost: its id, to have the infrastructure created again. */
export const ANNOTATION_RECREATE = "recreate.cloud.marina.dev";
/** On a Cluster: its id, to take it out of Marina without deleting what runs. */
export const ANNOTATION_RELEASE = "release.cloud.marina.dev";

/** On a Cluster: `<version> <reason>`, to have it upgraded to that version whatever checks find (upgrade-checks.ts). */
export const ANNOTATION_UPGRADE_FORCE = "upgrade.cloud.marina.dev/force";

/** Marina's annotations on its own kinds, besides those of ANNOTATION_REPLACE_PREFIX: each is reserved (shared/crd/reserved). */
export const OBJECT_ANNOTATIONS: readonly string[] = [
  ANNOTATION_REQUEST_ID,
  ANNOTATION_NETWORK_REQUEST_ID,
  ANNOTATION_AUTHORIZED_CIDRS,
  ANNOTATION_DELETE_MISSING_POOLS,
  ANNOTATION_IDENTITY,
  ANNOTATION_HOLD,
  ANNOTATION_RECREATE,
  ANNOTATION_RELEASE,
  ANNOTATION_UPGRADE_FORCE,
];

/** A Namespace as admission sees it: Kubernetes stores labels and annotations by each of these paths. */
export const NAMESPACE_PARTS = ["namespaces", "namespaces/status", "namespaces/finalize"];

/** On an organization's Namespace: its slug, by which people find it. */
export const LABEL_ORG_SLUG = "cloud.marina.dev/org-slug";
/** On a Namespace that holds what is protected from deletion: one of these objects (fields.ts). */
export const LABEL_PROTECTED = "cloud.marina.dev/protected";
/** On an organization's Namespace: its name. */
export const ANNOTATION_ORG_NAME = "cloud.marina.dev/org-name";
/** On an organization's Namespace: its limits (quota.ts), written by Marina's API server and enforced by the operator. */
export const ANNOTATION_QUOTAS = "cloud.marina.dev/quotas";

/** On an organization's Namespace: the parts of `spec.registration` that the platform allows, separated by commas. */
export const ANNOTATION_ALLOWED_REGISTRATION = "cloud.marina.dev/allowed-registration";

/** On what the operator applies: a hash of it (shared/controller/applied.ts). */
export const ANNOTATION_APPLIED = "cloud.marina.dev/applied";
/** On a pool in the topology of Cluster API, and so on its MachineDeployment: the size of its machines, as JSON. */
export const ANNOTATION_MACHINE_SIZE = "cloud.marina.dev/machine-size";

/** Marks the Secrets that hold a credential that the operator issued. */
export const LABEL_CREDENTIAL = "cloud.marina.dev/credential";

/** Marks the copies of the provider's credentials in the Namespaces of organizations. */
export const LABEL_PROVIDER_CREDENTIAL = "cloud.marina.dev/provider-credential";

/** On the manifests of an add-on: `source` by who provides them, `copy` in the Namespaces of organizations. */
export const LABEL_ADD_ON = "cloud.marina.dev/add-on";

/** On Cluster API's Cluster, for the add-ons that select it: its class, its plan (or `default`), and its `MAJOR.MINOR`. */
export const LABEL_CLUSTER_CLASS = "cloud.marina.dev/cluster-class";
export const LABEL_PLAN = "cloud.marina.dev/plan";
export const LABEL_KUBERNETES_MINOR = "cloud.marina.dev/kubernetes-minor";

export const FINALIZER = "cloud.marina.dev/operator";

/** Kubernetes' common label for the program that manages an object. */
export const LABEL_MANAGED_BY = "app.kubernetes.io/managed-by";

/** Prefix of every field manager of Marina. */
export const MANAGER_PREFIX = "marina-";
export const MANAGER_OPERATOR = "marina-operator";
export const MANAGER_OPERATOR_STATUS = "marina-operator-status";
export const MANAGER_APISERVER = "marina-apiserver";
export const MANAGER_APISERVER_NETWORK = "marina-apiserver-network";

/** The ConfigMap in the platform namespace that holds the catalogue of Kubernetes versions. */
export const VERSION_CATALOGUE_CONFIG_MAP = "kubernetes-versions";
export const VERSION_CATALOGUE_KEY = "versions.json";

/** The ConfigMap of the platform namespace with the packages from Marina's API server; `spec.plan` names one of them. */
export const PACKAGES_CONFIG_MAP = "plans";
export const PACKAGES_KEY = "plans.json";

/** The ConfigMap in the platform namespace that the operator publishes what the cluster classes can do in. */
export const CAPABILITIES_CONFIG_MAP = "class-capabilities";
export const CAPABILITIES_KEY = "capabilities.json";

/** The ConfigMap in the platform namespace that the operator publishes what runs unrecorded in. */
export const UNRECORDED_CONFIG_MAP = "unrecorded-machines";
export const UNRECORDED_KEY = "unrecorded.json";
