import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { kubectl, readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { installDefinitions, type ProviderDefinitions } from "../../e2e/testing/infrastructure-provider.ts";
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
const run = promisify(execFile);

// biome-ignore lint/suspicious/noExplicitAny: an object of any provider
type Any = any;

/** A class of charts/marina-classes, and how its templates show what they create. */
export interface ShippedClass {
  name: string;
  values: Record<string, unknown>;
  /** The beginning of its kinds, and their API version. */
  infrastructure: { kind: string; version: string };
  definitions: ProviderDefinitions;
  wishes: Partial<DesiredCluster>;
  image(template: Any, version: string): string;
  size(template: Any): unknown[];
  /** Changes that are refused before anything is made, with a part of the sentence. */
  refusals?: { what: string; change: DesiredChange; sentence: string }[];
  /** The size that a pool of 2 vCPUs, 4 GB and 20 GB is changed to. */
  resized: DesiredPool["machine"];
  /** The result of `size` before and after. */
  sizes: [unknown[], unknown[]];
}

/** Change of the cluster that every test begins with. */
export interface DesiredChange {
  version?: string;
  nodes?: number;
  machine?: DesiredPool["machine"];
  taints?: DesiredPool["taints"];
  workerSubnet?: string;
}

interface Expected {
  replicas: number;
  version: string;
  /** Key of the only taint. */
  taint?: string;
  /** How many machines Cluster API has made for it. */
  machines?: number;
}

async function list(resource: string, namespace: string): Promise<Any[]> {
  const { stdout } = await kubectl(["get", resource, "--namespace", namespace, "--output=json"]);
  return JSON.parse(stdout).items;
}

async function applyText(text: string, ...flags: string[]): Promise<void> {
  const applying = ["apply", "--server-side", "--force-conflicts", ...flags, "--filename", "-"];
  await kubectl(applying, { stdin: text });
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
  { name, values, definitions }: ShippedClass,
  namespace: string,
  older?: string,
): Promise<Any> {
  await installDefinitions(definitions);
  const given = JSON.stringify({ [name]: { enabled: true, ...values } });
  const flags = ["--namespace", namespace, "--values", "-"];
  const rendering = run(readStack().helm, ["template", "classes", CHART, ...flags]);
  rendering.child.stdin?.end(given);
  // Strict: a field that the provider's schema does not know is refused.
  await applyText((await rendering).stdout, "--validate=strict");
  return await waitFor(`the class ${name}`, async () => {
    const classes = await list("clusterclasses.cluster.x-k8s.io", namespace);
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
  await kubectl(["create", "namespace", namespace]);
  let clusterClass = await installClass(shipped, namespace);
  await kubectl(["create", "configmap", "owner", "--namespace", namespace]);
  const owner = (await list("configmaps", namespace)).find(({ metadata }) => metadata.name === "owner");
  const resourceOf = (suffix: string) =>
    `${shipped.infrastructure.kind}${suffix}s.infrastructure.cluster.x-k8s.io`.toLowerCase();

  function compose({
    version = "1.34.2",
    nodes = 2,
    machine,
    taints,
    workerSubnet,
  }: DesiredChange): DesiredCluster {
    const subnet = workerSubnet ?? "10.64.3.0/24";
    return {
      namespace,
      name: "classes",
      owner: { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid },
      labels: { "cloud.marina.dev/id": "0195a000-0000-7000-8000-000000000001" },
      classRef: { name: clusterClass.metadata.name, namespace },
      version,
      controlPlaneReplicas: CONTROL_PLANE_REPLICAS,
      controlPlaneDeletion: MACHINE_DELETION,
      plan: undefined,
      publicEndpoint: true,
      apiServerRateLimit: undefined,
      workerSubnet: subnet,
      clusterNetwork: { pods: ["192.168.0.0/16"], services: ["10.128.0.0/12"] },
      ...shipped.wishes,
      authorizedCIDRs: authorizeCIDRs(shipped.wishes.authorizedCIDRs, subnet, PLATFORM_CIDRS),
      pools: [
        {
          name: "web",
          size: { kind: "fixed", nodes },
          presentNodes: nodes,
          machine: machine ?? { vcpus: 2, memoryGB: 4, diskGB: 20 },
          labels: { tier: "web" },
          taints: taints ?? [{ key: "dedicated", value: "web", effect: "NoSchedule" }],
          scaleDownDelaySeconds: 600,
          scaleDownUtilizationPercent: 50,
          ...MACHINE_DELETION,
        },
      ],
    };
  }

  async function readOne(resource: string): Promise<Any> {
    const found = await list(resource, namespace);
    if (found.length !== 1) throw new Error(`${found.length} of ${resource}`);
    return found[0];
  }

  const readControlPlane = () => readOne("kubeadmcontrolplanes");
  const readPool = () => readOne("machinedeployments.cluster.x-k8s.io");

  async function readTemplate(name: string): Promise<Any> {
    const templates = await list(resourceOf("MachineTemplate"), namespace);
    return templates.find(({ metadata }) => metadata.name === name);
  }

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
    const name = `kubeadmcontrolplane/${metadata.name}`;
    const replicas = CONTROL_PLANE_REPLICAS;
    const status = {
      version,
      replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
      upToDateReplicas: replicas,
      initialization: { controlPlaneInitialized: true },
    };
    const patch = ["--type=merge", "--subresource=status", `--patch=${JSON.stringify({ status })}`];
    await kubectl(["patch", "--namespace", namespace, name, ...patch]);
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
      await applyText(JSON.stringify(composeCapiCluster(desired, capabilities)));
    },

    waitForPool: ({ replicas, version, taint = "dedicated", machines = 0 }: Expected) =>
      waitFor(`a pool with ${replicas} nodes of ${version}`, async () => {
        const pool = await readPool();
        const { spec } = pool.spec.template;
        const made = await list(resourceOf("Machine"), namespace);
        if (pool.spec.replicas !== replicas || spec.version !== version) return undefined;
        return spec.taints?.[0]?.key === taint && made.length >= machines ? pool : undefined;
      }),

    waitForPoolTemplate: (isWanted: (name: string) => boolean) =>
      waitFor("another template of the pool", async () => {
        const template = await readPoolTemplate();
        return isWanted(template.metadata.name) ? template : undefined;
      }),

    /** The template of the class that a template was made from. */
    sourceOf: ({ metadata }: Any): string => metadata.annotations["cluster.x-k8s.io/cloned-from-name"],

    /** Installs the class once more under this name, as a release does; what is applied from then on is of it. */
    async installNewer(name: string): Promise<void> {
      const values = { ...shipped.values, name };
      clusterClass = await installClass({ ...shipped, values }, namespace, clusterClass.metadata.name);
    },

    /** What the class makes of the cluster, as YAML without random names. */
    async describeObjects(): Promise<string> {
      const pool = await readPool();
      const objects = [
        await readOne(resourceOf("Cluster")),
        await readControlPlane(),
        await readControlPlaneTemplate(),
        pool,
        await readPoolTemplate(),
        (await list("kubeadmconfigtemplates", namespace)).find(
          ({ metadata }) => metadata.name === pool.spec.template.spec.bootstrap.configRef.name,
        ),
      ];
      return objects.map((object) => describeObject(object, namespace)).join("---\n");
    },

    async close(): Promise<void> {
      await kubectl([
        "delete",
        "cluster.cluster.x-k8s.io",
        "--all",
        "--wait=false",
        "--namespace",
        namespace,
      ]);
      await kubectl(["delete", "namespace", namespace, "--wait=false"]);
    },
  };
}
