import { z } from "zod";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { requireOwnKinds } from "../../shared/crd/definitions.ts";
import { MANAGER_OPERATOR, PACKAGES_CONFIG_MAP, PACKAGES_KEY } from "../../shared/crd/names.ts";
import { type Packages, packagesSchema } from "../../shared/crd/published-config.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { requireServerVersion } from "../../shared/kube/discovery.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { requireKinds } from "../../shared/kube/required-kinds.ts";
import type { Transport } from "../../shared/kube/transport.ts";
import { ExplainedError, messageOf } from "../../shared/program/errors.ts";
import { createLogger, type Logger } from "../../shared/program/log.ts";
import type { TenantKind } from "../../shared/tenant/tenant-client.ts";
import { parseEntry } from "../caches.ts";
import { decideCapabilities } from "../capabilities/decide.ts";
import { readClusterClass } from "../capi/cluster-class.ts";
import { readCapiCluster } from "../capi/cluster-state.ts";
import {
  ANNOTATION_SYNCED_LABELS,
  type ClusterClass,
  capiClusterKind,
  clusterClassKind,
  LABEL_CAPI_CLUSTER,
  LABEL_CAPI_POOL,
  machineKind,
} from "../capi/kinds.ts";
import { CAPI, probeGates } from "../capi/required.ts";
import type { Config } from "../config.ts";
import { createTenantAccess } from "../tenant/tenant.ts";
import {
  type Check,
  checkAutoscaler,
  checkGates,
  checkNetworks,
  checkNodeLabels,
  checkPlans,
  checkRights,
  type LabelledNode,
  listNeededRights,
  type Right,
} from "./checks.ts";
import { checkAutoscalerImages, checkCoreManagers, checkManagementNetworks } from "./management.ts";

/** A question about the rights of who asks (authorization.k8s.io/v1). */
interface AccessReview extends KubeObject {
  spec: { resourceAttributes: object };
  status?: { allowed: boolean };
}

const accessReviewKind = defineKind<AccessReview>({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
});

/** An API server of a tenant that does not answer must not end the search, and a hundred of them not prolong it. */
const MAX_TRIES = 3;
const CLUSTERS_READ = 100;

const nodeKind: TenantKind<KubeObject> = {
  kind: defineKind({ group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false }),
  schema: z.object({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.object({ name: z.string(), annotations: z.record(z.string(), z.string()).exactOptional() }),
  }),
};

/**
 * What an installation needs and has, in the order in which to mend it: Kubernetes, the kinds, Cluster API's version, the
 * caller's rights, Cluster API's gates, what it does with labels, the classes of the plans, the networks, and the configuration
 * with the images that it names, for which their registries are asked. Changes nothing.
 * Rejects with a KubeError when the Kubernetes API does not answer.
 */
export async function checkInstallation(
  transport: Transport,
  { settings }: Pick<Config, "settings">,
): Promise<Check[]> {
  const log = createLogger({ name: "preflight", level: "silent" });
  const kubernetes = await explain("kubernetes", "The version of the management cluster is supported.", () =>
    requireServerVersion(transport, log),
  );
  const kinds = await explain("kinds", "Marina's and Cluster API's definitions have all fields.", () =>
    requireKinds(transport, [requireOwnKinds(), CAPI], log),
  );
  const client = createClient(transport);
  const more = kinds.state === "ok" ? await checkClusterApi(client, settings) : [];
  const images = kinds.state === "ok" ? await checkAutoscalerImages(client, settings) : [];
  const networks = checkNetworks(settings.platformCIDRs);
  return [kubernetes, kinds, ...more, checkAutoscaler(settings.autoscalerImage), ...images, networks];
}

/** At the start of the operator, whose kinds are there: logs what keeps clusters back, and what tenants cannot have. */
export async function reportInstallation(
  transport: Transport,
  { settings }: Pick<Config, "settings">,
  log: Pick<Logger, "warn" | "info">,
): Promise<void> {
  try {
    for (const { state, about, text } of await checkClusterApi(createClient(transport), settings)) {
      if (state === "failed") log.warn({ about }, text);
      if (state === "warning") log.info({ about }, text);
    }
  } catch (error) {
    log.warn({ message: messageOf(error) }, "what the installation has is not known");
  }
}

async function checkClusterApi(
  client: Pick<KubeClient, "get" | "list" | "listAll" | "listKinds" | "create">,
  settings: Config["settings"],
): Promise<Check[]> {
  const namespace = settings.platformNamespace;
  const { signal } = new AbortController();
  const classes = await client.listAll(clusterClassKind);
  const rights = checkRights({
    needed: await findMissing(client, listNeededRights(namespace)),
    providers: await findMissing(client, await listProviderRights(client, classes)),
  });
  // The dry run would say the same in other words.
  if (rights.some(({ state }) => state === "failed")) return rights;
  const gates = await probeGates(client, { namespace, fieldManager: MANAGER_OPERATOR, signal });
  const labels = await probeNodeLabels(client, settings.syncedNodeLabels);
  const published = await readPackages(client, namespace);
  const capabilities = decideCapabilities({
    settings,
    packages: published.packages,
    classes: new Map(classes.map((one) => [objectKey(one), readClusterClass(one)])),
    takesTaints: gates.taints,
  });
  const plans = checkPlans(capabilities, settings.servicePlans);
  const version = await checkCoreManagers(client);
  const ranges = await checkManagementNetworks(client, settings);
  return [version, ...rights, ...checkGates(gates), labels, ...published.checks, ...plans, ...ranges];
}

/** The packages that Marina's API server has published; of an invalid publication none, and a failure. */
async function readPackages(
  client: Pick<KubeClient, "get">,
  namespace: string,
): Promise<{ packages: Packages; checks: Check[] }> {
  const published = await client.get(configMapKind, namespace, PACKAGES_CONFIG_MAP);
  try {
    const entry = { key: PACKAGES_KEY, schema: packagesSchema };
    return { packages: (published && parseEntry(published, entry)) ?? {}, checks: [] };
  } catch {
    const text = `The ConfigMap ${namespace}/${PACKAGES_CONFIG_MAP} is invalid, so packages are not known: see whether Marina's API server, which writes it, runs, and in the version of the operator.`;
    return { packages: {}, checks: [{ state: "failed", about: "packages", text }] };
  }
}

/** To read the clusters of each provider that a class is for, where the Kubernetes API has them. */
async function listProviderRights(
  client: Pick<KubeClient, "listKinds">,
  classes: readonly ClusterClass[],
): Promise<Right[]> {
  const kinds = await client.listKinds();
  const rights = classes.flatMap(({ spec }): [string, Right][] => {
    const { apiVersion = "", kind = "" } = spec?.infrastructure?.templateRef ?? {};
    const [group = ""] = apiVersion.split("/");
    const found = kinds.find((one) => one.group === group && `${one.kind}Template` === kind);
    return found === undefined
      ? []
      : [[`${group}/${found.plural}`, { verb: "get", group, resource: found.plural }]];
  });
  return [...new Map(rights).values()];
}

/** Those of the rights that the caller does not have. */
async function findMissing(client: Pick<KubeClient, "create">, rights: readonly Right[]): Promise<Right[]> {
  const reviewed = rights.map(async ({ resource: path, ...right }) => {
    const [resource, subresource] = path.split("/");
    const resourceAttributes = { ...right, resource, ...(subresource !== undefined && { subresource }) };
    const review = { metadata: {}, spec: { resourceAttributes } };
    return client.create(accessReviewKind, review, { fieldManager: MANAGER_OPERATOR });
  });
  const reviews = await Promise.all(reviewed);
  return rights.filter((_, index) => reviews[index]?.status?.allowed !== true);
}

async function explain(about: string, text: string, check: () => Promise<void>): Promise<Check> {
  try {
    await check();
    return { state: "ok", about, text };
  } catch (error) {
    if (error instanceof ExplainedError) return { state: "failed", about, text: error.message };
    if (error instanceof KubeError) return { state: "failed", about, text: `${error.kubeMessage}.` };
    throw error;
  }
}

type ReadClient = Pick<KubeClient, "get" | "list">;

/** As `checkNodeLabels` of the first node that is found; a node that cannot be read is unknown. */
async function probeNodeLabels(client: ReadClient, syncedNodeLabels: RegExp): Promise<Check> {
  try {
    return checkNodeLabels(await findLabelledNode(client), syncedNodeLabels);
  } catch (error) {
    // A tenant's API may have written it: it stays one line.
    const cause = messageOf(error).replaceAll(/[\p{Cc}\s]+/gu, " ");
    const text = `Which labels Cluster API sets on nodes could not be seen: ${cause}.`;
    return { state: "unknown", about: "labels", text };
  }
}

/**
 * A node of the newest cluster of Marina that has one; undefined = there is none yet. Changes nothing. Rejects with what kept it
 * from reading any of those that there are.
 */
async function findLabelledNode(client: ReadClient): Promise<LabelledNode | undefined> {
  const { items } = await client.list(clusterKind, {
    limit: CLUSTERS_READ,
    fieldSelector: "status.phase=Ready",
  });
  // The newest first: labels of older nodes may be those of another configuration of Cluster API.
  const withNodes = items
    .filter(({ status }) => (status?.nodes?.ready ?? 0) > 0)
    .sort((a, b) => createdAt(b).localeCompare(createdAt(a)))
    .slice(0, MAX_TRIES);
  let failure: unknown;
  for (const cluster of withNodes) {
    try {
      const found = await readLabelledNode(client, cluster);
      if (found !== undefined) return found;
    } catch (error) {
      failure = error;
    }
  }
  if (failure !== undefined) throw failure;
  return undefined;
}

function createdAt({ metadata }: Cluster): string {
  return metadata.creationTimestamp ?? "";
}

async function readLabelledNode(client: ReadClient, cluster: Cluster): Promise<LabelledNode | undefined> {
  const { namespace, name } = cluster.metadata;
  const capiCluster = await client.get(capiClusterKind, namespace, name);
  const endpoint = capiCluster && readCapiCluster(capiCluster).endpoint;
  const labelSelector = `${LABEL_CAPI_CLUSTER}=${name},${LABEL_CAPI_POOL}`;
  const { items } = await client.list(machineKind, { namespace, labelSelector });
  const machine = items.find(({ status }) => status?.nodeRef?.name !== undefined);
  const node = machine?.status?.nodeRef?.name;
  if (endpoint === undefined || machine === undefined || node === undefined) return undefined;
  const { signal } = new AbortController();
  const access = createTenantAccess({ client, now: () => new Date(), isLeader: () => false });
  const tenant = { server: endpoint.url, accessSource: { kind: "kubeconfig", revision: "" } } as const;
  const read = await access.withTenant(cluster, tenant, signal, (api) => api.get(nodeKind, node));
  const synced = read?.metadata.annotations?.[ANNOTATION_SYNCED_LABELS]?.split(",");
  if (synced === undefined) return undefined;
  const wanted = Object.keys(machine.metadata.labels ?? {});
  // Only keys that are known are repeated: the text itself is a tenant's.
  return {
    cluster: `${namespace}/${name}`,
    node,
    wanted,
    synced: wanted.filter((key) => synced.includes(key)),
  };
}
