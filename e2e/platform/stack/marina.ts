import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type MarinaEnvironment, nameRefusingClass } from "./environment.ts";
import type { KubeApi, Manifest } from "./kube-api.ts";
import { requireHttpOk } from "./probes.ts";
import type { Node, ProcessNode, StepNode } from "./supervisor.ts";

export const ROOT = join(import.meta.dirname, "..", "..", "..");
export const DIST = join(ROOT, "dist");
export const PLATFORM_NAMESPACE = "marina-system";

/** The user of a program's ServiceAccount, as in an installation. */
export function userOf(program: "apiserver" | "operator"): string {
  return `system:serviceaccount:${PLATFORM_NAMESPACE}:marina-${program}`;
}

export interface MarinaDeps {
  kube: KubeApi;
  environment: MarinaEnvironment;
  /** Builds the bundles under dist/. */
  build: () => Promise<void>;
  /** Nodes that must be done before Kubernetes objects can be written, and before the class can. */
  after: { kube: readonly string[]; capi: readonly string[]; database: readonly string[] };
  /** The manifests of the stack's ClusterClass; an existing cluster has its own. */
  classFile: string | undefined;
  /** Beside it one that takes no cluster. */
  hasRefusingClass: boolean;
  /** Applied with the custom resources, before the programs start. */
  programAccess: readonly Manifest[];
}

type PlatformDeps = Omit<MarinaDeps, "environment" | "build">;

const VERSIONS = [
  { version: "1.33.6", status: "supported" },
  { version: "1.34.2", status: "supported" },
  { version: "1.35.1", status: "supported" },
  { version: "1.36.0", status: "supported" },
];

/** The objects of a YAML file. */
export function readManifests(file: string): Manifest[] {
  return parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS() as Manifest);
}

function readMarinaManifests(): Manifest[] {
  const folder = join(ROOT, "crds");
  const files = readdirSync(folder).filter((file) => file.endsWith(".yaml"));
  return files.flatMap((file) => readManifests(join(folder, file)));
}

const namespace: Manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name: PLATFORM_NAMESPACE } };

const catalogue: Manifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "kubernetes-versions", namespace: PLATFORM_NAMESPACE },
  data: { "versions.json": JSON.stringify(VERSIONS, undefined, 2) },
};

/**
 * The platform namespace, the version catalogue, Marina's custom resources, the programs' access and the ClusterClass.
 */
export function platformSteps(deps: PlatformDeps): StepNode[] {
  const { kube, after, classFile, hasRefusingClass, programAccess } = deps;
  const steps: StepNode[] = [
    {
      name: "platform namespace",
      after: after.kube,
      async run() {
        await kube.apply([namespace]);
        await kube.apply([catalogue]);
      },
    },
    {
      name: "Marina CRDs",
      after: after.kube,
      async run() {
        const manifests = readMarinaManifests();
        await kube.apply(manifests);
        const crds = manifests.filter((one) => one.kind === "CustomResourceDefinition");
        await kube.waitEstablished(
          crds.map((crd) => crd.metadata.name),
          180_000,
        );
      },
    },
    {
      name: "program access",
      after: ["platform namespace", "Marina CRDs"],
      run: () => kube.apply(programAccess),
    },
  ];
  if (classFile === undefined) return steps;
  return [...steps, classStep(kube, { classFile, hasRefusingClass }, after.capi)];
}

function classStep(
  kube: KubeApi,
  { classFile, hasRefusingClass }: { classFile: string; hasRefusingClass: boolean },
  afterProvider: readonly string[],
): StepNode {
  return {
    name: "ClusterClass",
    after: ["platform namespace", ...afterProvider],
    async run() {
      const manifests = readManifests(classFile);
      const isClass = (one: Manifest): boolean => one.kind === "ClusterClass";
      await kube.apply(manifests.filter((one) => !isClass(one)));
      const classes = manifests.filter(isClass);
      await kube.apply(classes);
      if (hasRefusingClass) await kube.apply(classes.map(refuseClusters));
    },
  };
}

/** A copy of the class for another plan alone, so that Cluster API refuses the clusters of each plan that maps to it. */
function refuseClusters(clusterClass: Manifest): Manifest {
  const { metadata, spec } = structuredClone(clusterClass) as Manifest & {
    spec: { variables: { name: string; schema: unknown }[] };
  };
  const plan = spec.variables.find(({ name }) => name === "plan");
  if (plan === undefined) throw new TypeError(`${metadata.name} has no variable plan`);
  plan.schema = { openAPIV3Schema: { type: "string", enum: ["refused"] } };
  return { ...clusterClass, metadata: { ...metadata, name: nameRefusingClass(metadata.name) }, spec };
}

/** What a management cluster has before the chart is installed: the platform namespace with the ClusterClass. */
export function preparedSteps({ kube, after, classFile = "" }: PlatformDeps): StepNode[] {
  const namespaceStep = {
    name: "platform namespace",
    after: after.kube,
    run: () => kube.apply([namespace]),
  };
  return [namespaceStep, classStep(kube, { classFile, hasRefusingClass: false }, after.capi)];
}

// --optimize-for-size would double the CPU of a request.
// With a dynamic mmap threshold the C library keeps the buffers of large lists: 40 MB permanently.
export const MEMORY_ENVIRONMENT = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "131072" };
/** As the chart starts the operator: most of its heap is informer caches, which stay. */
export const OPERATOR_HEAP_GROWTH = "--heap-growing-percent=20";
const HEAP_FLAGS: Readonly<Record<string, readonly string[]>> = {
  // As in a container of 2 GB. On a large machine V8 would let garbage grow to three times the live heap: 540 MB when
  // 5,000 streams reconnect at once, with the limit 320 MB.
  apiserver: ["--max-old-space-size=1024", "--max-semi-space-size=16"],
  // As in a container of 1 GB. With 10,000 clusters 0.6 GB, without both flags 1.1.
  operator: ["--max-old-space-size=768", "--max-semi-space-size=8", OPERATOR_HEAP_GROWTH],
};

/** How a program is run from its bundle, with MEMORY_ENVIRONMENT. */
export function runBundle(name: string): { command: string; args: string[] } {
  const flags = HEAP_FLAGS[name] ?? [];
  return { command: process.execPath, args: [...flags, join(DIST, `${name}.js`)] };
}

function apiserverNode({ environment }: MarinaDeps): ProcessNode {
  return {
    name: "apiserver",
    after: ["program access", "migrations", "identity-provider"],
    process: () => ({
      ...runBundle("apiserver"),
      env: { ...environment.apiserver, ...MEMORY_ENVIRONMENT },
      probe: () => requireHttpOk(`${environment.apiMetricsUrl}/readyz`),
      stopTimeoutMs: 3000,
    }),
  };
}

function operatorNode({ environment, after }: MarinaDeps): ProcessNode {
  return {
    name: "operator",
    after: ["program access", "bundles", ...after.capi],
    process: () => ({
      ...runBundle("operator"),
      env: { ...environment.operator, ...MEMORY_ENVIRONMENT },
      probe: () => requireHttpOk(`${environment.operatorUrl}/readyz`),
      stopTimeoutMs: 3000,
      restarts: true,
    }),
  };
}

function migrationsNode({ after }: MarinaDeps, migrate: (signal: AbortSignal) => Promise<void>): StepNode {
  return { name: "migrations", after: ["bundles", ...after.database], run: migrate };
}

/** The product itself, from its bundles: migrations, API server and operator. `migrate` runs the migrations. */
export function marinaNodes(deps: MarinaDeps, migrate: (signal: AbortSignal) => Promise<void>): Node[] {
  return [
    { name: "bundles", after: [], run: deps.build },
    migrationsNode(deps, migrate),
    apiserverNode(deps),
    operatorNode(deps),
  ];
}
