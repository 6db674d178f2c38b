import { z } from "zod";
import { defineKind, type KubeObject } from "../../../shared/kube/kind.ts";

export const LOCAL_GROUP = "local.marina.dev";
const VERSION = "v1alpha1";

/** On every object of a Cluster API cluster. */
export const LABEL_CLUSTER_NAME = "cluster.x-k8s.io/cluster-name";

const conditionSchema = z.object({
  type: z.string().max(316),
  status: z.enum(["True", "False", "Unknown"]),
  reason: z.string().max(1024),
  message: z.string().max(32_768),
  lastTransitionTime: z.string().max(64),
  observedGeneration: z.int().min(0),
});

const conditionsSchema = z
  .array(conditionSchema)
  .max(16)
  .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] });

const endpointSchema = z.object({ host: z.string().max(253), port: z.int().min(0).max(65_535) }).meta({
  description: "Address of the cluster's API. Chosen once by the provider, kept for the cluster's lifetime.",
});

export const localClusterSpecSchema = z
  .object({
    controlPlaneEndpoint: endpointSchema.optional(),
    publicEndpoint: z.boolean().optional().meta({
      description: "False: only the platform and the workers may connect. Default true.",
    }),
    authorizedCIDRs: z.array(z.string().max(43)).max(512).optional().meta({
      description: "Sources that may connect, besides the platform and the workers. Absent means any.",
    }),
    apiServerRateLimit: z
      .object({ maxConnectionsPerSecond: z.int().min(1), burst: z.int().min(1) })
      .optional()
      .meta({
        description: "New connections in total, from sources other than the platform and the workers.",
      }),
    workerSubnet: z
      .string()
      .max(43)
      .optional()
      .meta({ description: "Network of the workers, always allowed." }),
    plan: z.string().max(63).optional().meta({ description: "For people only." }),
  })
  .meta({ description: "A cluster whose components are local processes." });

export const localClusterStatusSchema = z.object({
  initialization: z.object({ provisioned: z.boolean().optional() }).optional(),
  conditions: conditionsSchema.optional(),
});

const networkSchema = z.array(z.string().max(43)).min(1).max(2).optional();

const replicasSchema = z.int().min(0).max(7).optional();

export const controlPlaneShapes = ["managed", "unsigned", "keyless"] as const;
export type ControlPlaneShape = (typeof controlPlaneShapes)[number];

export const localControlPlaneSpecSchema = z
  .object({
    version: z.string().max(64).meta({ description: "Kubernetes version, with v." }),
    replicas: replicasSchema.meta({
      description: "Reported only; one process stands for all replicas.",
    }),
    shape: z.enum(controlPlaneShapes).optional().meta({
      description:
        "Managed: as a provider that keeps the key of the CA to itself and reports status.version alone. Unsigned: the same, and it signs no certificates. Keyless: as managed, with a Secret of the CA that has no key.",
    }),
    podCIDRs: networkSchema.meta({
      description: "Addresses of pods, from the first of these networks. Default 10.128.0.0/16.",
    }),
    serviceCIDRs: networkSchema.meta({ description: "Addresses of Services. Default 10.96.0.0/16." }),
  })
  .meta({ description: "kube-apiserver, controller manager, scheduler and kwok of one cluster." });

export const localControlPlaneStatusSchema = z.object({
  initialization: z.object({ controlPlaneInitialized: z.boolean().optional() }).optional(),
  externalManagedControlPlane: z.boolean().optional(),
  version: z.string().max(64).optional(),
  versions: z
    .array(z.object({ version: z.string().max(64), replicas: z.int().optional() }))
    .max(8)
    .optional(),
  replicas: replicasSchema,
  readyReplicas: replicasSchema,
  availableReplicas: replicasSchema,
  upToDateReplicas: replicasSchema,
  conditions: conditionsSchema.optional(),
});

export const localMachineSpecSchema = z
  .object({
    providerID: z.string().max(512).optional(),
    vcpus: z.int().min(1).max(128).optional().meta({ description: "Default 2." }),
    memoryGB: z.int().min(1).max(512).optional().meta({ description: "GiB; default 4." }),
    diskGB: z.int().min(1).max(2048).optional().meta({ description: "GiB; default 20." }),
  })
  .meta({ description: "A worker: a Node that kwok simulates." });

export const localMachineStatusSchema = z.object({
  initialization: z.object({ provisioned: z.boolean().optional() }).optional(),
  addresses: z
    .array(z.object({ type: z.string(), address: z.string() }))
    .max(8)
    .optional(),
  conditions: conditionsSchema.optional(),
});

export const localBootstrapSpecSchema = z
  .object({})
  .meta({ description: "Bootstrap data of a worker: empty, but Cluster API requires it." });

export const localBootstrapStatusSchema = z.object({
  initialization: z.object({ dataSecretCreated: z.boolean().optional() }).optional(),
  dataSecretName: z.string().max(253).optional(),
  conditions: conditionsSchema.optional(),
});

interface Local<Spec, Status> extends KubeObject {
  spec: Spec;
  status?: Status;
}

export type LocalCluster = Local<
  z.output<typeof localClusterSpecSchema>,
  z.output<typeof localClusterStatusSchema>
>;
export type LocalControlPlane = Local<
  z.output<typeof localControlPlaneSpecSchema>,
  z.output<typeof localControlPlaneStatusSchema>
>;
export type LocalMachine = Local<
  z.output<typeof localMachineSpecSchema>,
  z.output<typeof localMachineStatusSchema>
>;
export type LocalBootstrap = Local<
  z.output<typeof localBootstrapSpecSchema>,
  z.output<typeof localBootstrapStatusSchema>
>;

function defineLocalKind<T extends KubeObject>(kind: string) {
  // Cluster API finds the CustomResourceDefinition of a kind by this plural.
  const plural = `${kind.toLowerCase()}s`;
  return defineKind<T>({ group: LOCAL_GROUP, version: VERSION, kind, plural, namespaced: true });
}

export const localClusterKind = defineLocalKind<LocalCluster>("LocalCluster");
export const localControlPlaneKind = defineLocalKind<LocalControlPlane>("LocalControlPlane");
export const localMachineKind = defineLocalKind<LocalMachine>("LocalMachine");
export const localBootstrapKind = defineLocalKind<LocalBootstrap>("LocalBootstrap");
