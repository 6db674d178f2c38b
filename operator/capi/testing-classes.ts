import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments, stringify } from "yaml";
import { collectionPathOf, type Manifest, pluralOf } from "../../e2e/platform/stack/kube-api.ts";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { installDefinitions, type ProviderDefinitions } from "../../e2e/testing/infrastructure-provider.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { toKubeError } from "../../shared/kube/errors.ts";
import { defineKind, type Kind } from "../../shared/kube/kind.ts";
import { APPLY_PATCH, createTransport } from "../../shared/kube/transport.ts";
import { authorizeCIDRs } from "../cluster/networks.ts";
import { readClusterClass } from "./cluster-class.ts";
import { composeCapiCluster, type DesiredCluster, findUnsupported } from "./topology.ts";
import type { DesiredPool } from "./worker-pool.ts";

const CHART = join(import.meta.dirname, "..", "..", "charts", "marina-classes");
const CONTROL_PLANE_REPLICAS = 3;
const MACHINE_DELETION = {
  drainTimeoutSeconds: 600,
  volumeDetachTimeoutSeconds: 60,
  nodeDeletionTimeoutSeconds: 10,
};
/** From where the platform reaches the endpoints, which the operator adds to every list. */
const PLATFORM_CIDRS = ["198.51.100.7/32"];
const FIELD_MANAGER = "shipped-classes";
/** More than the webhooks of Cluster API take on a slow machine. */
const CALL_TIMEOUT_MS = 120_000;
const run = promisify(execFile);

// biome-ignore lint/suspicious/noExplicitAny: an object of any provider
type Any = any;

function kindOf(kind: string, group: string, version: string): Kind<Any> {
  return defineKind<Any>({ group, version, kind, plural: pluralOf(kind), namespaced: true });
}

const configMapKind = kindOf("ConfigMap", "", "v1");
const clusterClassKind = kindOf("ClusterClass", "cluster.x-k8s.io", "v1beta2");
const capiClusterKind = kindOf("Cluster", "cluster.x-k8s.io", "v1beta2");
const poolKind = kindOf("MachineDeployment", "cluster.x-k8s.io", "v1beta2");
const controlPlaneKind = kindOf("KubeadmControlPlane", "controlplane.cluster.x-k8s.io", "v1beta2");
const bootstrapKind = kindOf("KubeadmConfigTemplate", "bootstrap.cluster.x-k8s.io", "v1beta2");

/** A class of charts/marina-classes, and how its templates show what they create. */
export interface ShippedClass {
  name: string;
  values: Record<string, unknown>;
  /** Changes the manifests of the first class of a test, not those of a newer one. */
  rewrite?: ((manifests: string) => string) | undefined;
  /** The beginning of its kinds, and their API version. */
  infrastructure: { kind: string; version: string };
  /** Whether its provider names, tags and finds nothing by the name of a cluster alone, by the provider's sources. */
  hasNamesPerNamespace: boolean;
  definitions: ProviderDefinitions;
  wishes?: Partial<DesiredCluster>;
  image(template: Any, version: string): string;
  size(template: Any): unknown[];
  /** Changes that are refused before anything is made, with a part of the sentence. */
  refusals?: { what: string; change: DesiredChange; sentence: string }[];
  /** The size that a pool of 2 vCPUs, 4 GB and 20 GB is changed to. */
  resized: DesiredPool["machineSize"];
  /** The result of `size` before and after. */
  sizes: [unknown[], unknown[]];
}

/** Change of the cluster that every test begins with. */
export type DesiredChange = Partial<
  Pick<DesiredCluster, "version" | "workerSubnet" | "authorizedCIDRs"> &
    Pick<DesiredPool, "machineSize" | "taints"> & { nodes: number }
>;

interface Expected {
  replicas: number;
  version: string;
  /** Key of the only taint. */
  taint?: string;
  /** How many machines Cluster API has made for it. */
  machines?: number;
}

/** A client of the stack, not kubectl, for each look of a wait would start a program. */
function openApi() {
  const connection = loadConnection(readStack().kubeconfig);
  const transport = createTransport({ connection, timeoutMs: CALL_TIMEOUT_MS });
  return {
    client: createClient(transport),
    /** Server-side apply; rejects also for a field that the schema of the provider does not know. */
    apply: async (object: Manifest): Promise<void> => {
      const path = `${collectionPathOf(object)}/${object.metadata.name}`;
      const query = { fieldManager: FIELD_MANAGER, force: true, fieldValidation: "Strict" };
      const patch = { method: "PATCH", path, query, body: object, contentType: APPLY_PATCH } as const;
      const response = await transport.request(patch);
      if (response.status >= 300) throw toKubeError(response, `PATCH ${path}`);
    },
    close: () => transport.close(),
  };
}

/** Names that Cluster API makes end with five random characters. */
function withoutRandom(text: string): string {
  return text.replace(/^(classes(?:-[a-z]+)?)-[a-z0-9]{5}$/, "$1-xxxxx");
}

function describeObject({ apiVersion, kind, metadata, spec }: Any, namespace: string): string {
  const object = { apiVersion, kind, metadata: { name: metadata.name }, spec };
  const text = JSON.stringify(object, (_, value) =>
    typeof value === "string" ? withoutRandom(value).replaceAll(namespace, "NAMESPACE") : value,
  );
  return stringify(JSON.parse(text), { aliasDuplicateObjects: false });
}

/** `older` is the name of a class of the same chart in the namespace, beside which this one is installed. */
async function installClass(
  { client, apply }: ReturnType<typeof openApi>,
  { name, values, definitions, rewrite = (manifests) => manifests }: ShippedClass,
  namespace: string,
  older?: string,
): Promise<Any> {
  await installDefinitions(definitions);
  const flags = ["--namespace", namespace, "--values", "-"];
  const rendering = run(readStack().helm, ["template", "classes", CHART, ...flags]);
  rendering.child.stdin?.end(JSON.stringify({ [name]: { enabled: true, ...values } }));
  for (const document of parseAllDocuments(rewrite((await rendering).stdout)))
    if (document.contents !== null) await apply(document.toJS());
  return await waitFor(`the class ${name}`, async () => {
    const classes = await client.listAll(clusterClassKind, { namespace });
    const found = classes.find((one) => one.metadata.name !== older);
    const ready = found?.status?.conditions?.find(({ type }: Any) => type === "VariablesReady");
    return ready?.status === "True" ? found : undefined;
  });
}

export type ClassTest = Awaited<ReturnType<typeof openClassTest>>;

/**
 * Installs a class in a separate namespace and offers a cluster of it to change. Cluster API itself makes every object; kubeadm's
 * programs and the provider do not run, so the test plays the control plane, which reports the version that it was given.
 */
export async function openClassTest(shipped: ShippedClass) {
  const namespace = `classes-${shipped.name}-${randomUUID().slice(0, 8)}`;
  const api = openApi();
  const { client } = api;
  const asTest = { fieldManager: FIELD_MANAGER };
  await client.create(namespaceKind, { metadata: { name: namespace } }, asTest);
  let clusterClass = await installClass(api, shipped, namespace);
  const owner = await client.create(configMapKind, { metadata: { name: "owner", namespace } }, asTest);
  const infrastructureKind = (suffix: string) => {
    const { kind, version } = shipped.infrastructure;
    return kindOf(`${kind}${suffix}`, "infrastructure.cluster.x-k8s.io", version);
  };

  function compose({
    version = "1.34.2",
    nodes = 2,
    machineSize,
    taints,
    workerSubnet = "10.64.3.0/24",
    authorizedCIDRs = shipped.wishes?.authorizedCIDRs,
  }: DesiredChange): DesiredCluster {
    return {
      namespace,
      name: "classes",
      owner: { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid },
      labels: { "cloud.marina.dev/id": "0195a000-0000-7000-8000-000000000001" },
      classRef: { name: clusterClass.metadata.name, namespace },
      version,
      controlPlaneReplicas: CONTROL_PLANE_REPLICAS,
      controlPlaneDeletionTimeouts: MACHINE_DELETION,
      plan: undefined,
      publicEndpoint: true,
      apiServerRateLimit: undefined,
      workerSubnet,
      clusterNetwork: { pods: ["192.168.0.0/16"], services: ["10.128.0.0/12"] },
      ...shipped.wishes,
      authorizedCIDRs: authorizeCIDRs(authorizedCIDRs, workerSubnet, PLATFORM_CIDRS),
      pools: [
        {
          name: "web",
          scale: { kind: "fixed", nodes },
          liveReplicas: nodes,
          machineSize: machineSize ?? { vcpus: 2, memoryGB: 4, diskGB: 20 },
          labels: { tier: "web" },
          taints: taints ?? [{ key: "dedicated", value: "web", effect: "NoSchedule" }],
          scaleDownDelaySeconds: 600,
          scaleDownUtilizationPercent: 50,
          ...MACHINE_DELETION,
        },
      ],
    };
  }

  async function readOne(kind: Kind<Any>): Promise<Any> {
    const found = await client.listAll(kind, { namespace });
    if (found.length !== 1) throw new Error(`${found.length} of ${kind.plural}`);
    return found[0];
  }

  const readControlPlane = () => readOne(controlPlaneKind);
  const readPool = () => readOne(poolKind);
  const readTemplate = (name: string) => client.get(infrastructureKind("MachineTemplate"), namespace, name);

  const readPoolTemplate = async () =>
    readTemplate((await readPool()).spec.template.spec.infrastructureRef.name);
  const readControlPlaneTemplate = async () =>
    readTemplate((await readControlPlane()).spec.machineTemplate.spec.infrastructureRef.name);

  const waitForControlPlane = (version: string) =>
    waitFor(`the control plane of ${version}`, async () => {
      const found = await readControlPlane();
      return found.spec.version === version ? found : undefined;
    });

  /** Plays a control plane whose machines all have this version. */
  async function completeControlPlane(version: string): Promise<void> {
    const { metadata } = await waitForControlPlane(version);
    const replicas = CONTROL_PLANE_REPLICAS;
    const status = {
      version,
      replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
      upToDateReplicas: replicas,
      initialization: { controlPlaneInitialized: true },
    };
    const options = { ...asTest, subresource: "status" } as const;
    await client.mergePatch(controlPlaneKind, namespace, metadata.name, { status }, options);
  }

  return {
    namespace,
    readControlPlane,
    readPoolTemplate,
    readControlPlaneTemplate,
    waitForControlPlane,
    completeControlPlane,

    /** Applies what the operator applies for this cluster; rejects with the refusal of Cluster API. */
    async apply(change: DesiredChange): Promise<void> {
      const desired = compose(change);
      const capabilities = readClusterClass(clusterClass);
      const [unsupported] = findUnsupported(desired, capabilities);
      if (unsupported !== undefined) throw new Error(unsupported);
      await api.apply(composeCapiCluster(desired, capabilities) as unknown as Manifest);
    },

    waitForPool: ({ replicas, version, taint = "dedicated", machines = 0 }: Expected) =>
      waitFor(`a pool with ${replicas} nodes of ${version}`, async () => {
        const pool = await readPool();
        const { spec } = pool.spec.template;
        const made = await client.listAll(infrastructureKind("Machine"), { namespace });
        if (pool.spec.replicas !== replicas || spec.version !== version) return undefined;
        return spec.taints?.[0]?.key === taint && made.length >= machines ? pool : undefined;
      }),

    waitForPoolTemplate: (isWanted: (name: string) => boolean) =>
      waitFor("another template of the pool", async () => {
        const template = await readPoolTemplate();
        return isWanted(template.metadata.name) ? template : undefined;
      }),

    capabilities: () => readClusterClass(clusterClass),

    /** The template of the class that a template was made from. */
    sourceOf: ({ metadata }: Any): string => metadata.annotations["cluster.x-k8s.io/cloned-from-name"],

    /** Installs the class once more under this name, as a release does; what is applied from then on is of it. */
    async installNewer(name: string): Promise<void> {
      const newer = { ...shipped, values: { ...shipped.values, name }, rewrite: undefined };
      clusterClass = await installClass(api, newer, namespace, clusterClass.metadata.name);
    },

    /** What the class makes of the cluster, as YAML without random names. */
    async describeObjects(): Promise<string> {
      const pool = await readPool();
      const objects = [
        await readOne(infrastructureKind("Cluster")),
        await readControlPlane(),
        await readControlPlaneTemplate(),
        pool,
        await readPoolTemplate(),
        await client.get(bootstrapKind, namespace, pool.spec.template.spec.bootstrap.configRef.name),
      ];
      return objects.map((object) => describeObject(object, namespace)).join("---\n");
    },

    async close(): Promise<void> {
      for (const { metadata } of await client.listAll(capiClusterKind, { namespace }))
        await client.delete(capiClusterKind, namespace, metadata.name);
      await client.delete(namespaceKind, undefined, namespace);
      await api.close();
    },
  };
}
