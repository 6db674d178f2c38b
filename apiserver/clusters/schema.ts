import { z } from "@hono/zod-openapi";
import { text } from "../../shared/crd/fields.ts";
import { labelsSchema } from "../../shared/crd/labels.ts";
import { PACKAGE_SLUGS } from "../billing/index.ts";
import {
  countField,
  idField,
  immutableField,
  nameField,
  readOnlyField,
  textField,
  timestampField,
} from "../http/contract/fields.ts";
import { labelSelectorQuery, replacedLabelsSchema } from "../http/contract/label-selector.ts";
import { pageQuery, pageSchema } from "../http/contract/page.ts";
import {
  conditionsField,
  createNodePoolBody,
  deletionFields,
  deletionSettings,
  EXAMPLE_EFFECTS,
  effectsRecord,
  upgradeChecksField,
} from "../node-pools/index.ts";
import { CLUSTER_STATUSES } from "../resources/project/index.ts";
import { authorizedCidrs } from "./authorized-cidrs.ts";
import { versionField } from "./kubernetes-version.ts";
import { upgradeChecksSetting, upgradeForce, upgradeWarnings } from "./upgrade-fields-schema.ts";

const MAX_NODE_POOLS = 50;
const MAX_COUNT = 1_000_000;
const MAX_GENERATION = Number.MAX_SAFE_INTEGER;

const readyCount = z
  .object({
    total: countField(MAX_COUNT, "Those that exist.", 3),
    ready: countField(MAX_COUNT, "Those that are ready.", 3),
  })
  .openapi("ReadyCount", {
    description: "How many there are, and how many of them are ready.",
    example: { total: 3, ready: 3 },
  });

const clusterName = nameField(63, "Name shown to people; unique in the organization, letter case aside.");

const exampleCluster = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  name: "production",
  labels: { team: "web" },
  deletion_protection: false,
  deletion_protection_state: "off",
  expires_at: null,
  upgrade_checks: "warn",
  status: "running",
  status_message: null,
  conditions: [
    {
      type: "Ready",
      status: "True",
      reason: "Available",
      message: "The cluster is running.",
      last_transition_time: "2026-11-21T09:01:00.000Z",
    },
  ],
  plan: null,
  k8s_version: "1.34.2",
  current_version: "1.34.2",
  apiserver_url: "https://production.example.com:6443",
  worker_subnet: "10.64.3.0/24",
  public_endpoint: true,
  node_pools: { total: 1, ready: 1 },
  nodes: { total: 3, ready: 3 },
  upgrade_available: true,
  generation: 1,
  observed_generation: 1,
  first_ready_at: "2026-11-21T09:01:00.000Z",
  created_at: "2026-11-21T09:00:00.000Z",
  updated_at: "2026-11-21T09:00:00.000Z",
} as const;

const {
  current_version: _version,
  apiserver_url: _url,
  worker_subnet: _subnet,
  ...unobserved
} = exampleCluster;
/** A cluster that was just accepted, of which nothing is observed yet. */
export const exampleNewCluster = {
  ...unobserved,
  status: "provisioning",
  conditions: [],
  node_pools: { total: 0, ready: 0 },
  nodes: { total: 0, ready: 0 },
  upgrade_available: false,
  observed_generation: 0,
  first_ready_at: null,
};
/** What a dry run answers to a create. */
export const exampleClusterDryRun = { ...exampleNewCluster, effects: EXAMPLE_EFFECTS };
export const exampleDeletedCluster = { ...exampleCluster, status: "deleting" };

export const clusterRecord = z
  .object({
    id: idField("The cluster."),
    org_id: idField("The organization that it belongs to."),
    name: textField(63, "Name shown to people; unique in the organization, letter case aside."),
    labels: labelsSchema,
    ...deletionFields,
    upgrade_checks: upgradeChecksSetting,
    status: z.enum(CLUSTER_STATUSES).openapi({ description: "Summary of the state." }),
    status_message: textField(
      1024,
      "What the cluster waits for, or what went wrong and how to fix it.",
    ).nullable(),
    conditions: conditionsField("The conditions of the cluster."),
    plan: textField(40, "The package that it is billed as; null: billed per resource.").nullable(),
    k8s_version: textField(16, "The desired version.", "1.34.2"),
    current_version: textField(
      16,
      "The version that runs; it changes when an upgrade is complete.",
      "1.34.2",
    ).optional(),
    apiserver_url: textField(512, "As observed; absent until reported.").optional(),
    worker_subnet: textField(
      18,
      "The subnet of its nodes; absent until assigned.",
      "10.64.3.0/24",
    ).optional(),
    public_endpoint: z.boolean().openapi({ description: "Whether the API server has a public address." }),
    node_pools: readyCount,
    nodes: readyCount,
    upgrade_available: z.boolean().openapi({ description: "Whether a newer version can be upgraded to." }),
    generation: countField(MAX_GENERATION, "Rises with each change of the settings."),
    observed_generation: countField(MAX_GENERATION, "The generation that status describes."),
    first_ready_at: timestampField("When it was running for the first time.").nullable(),
    created_at: timestampField("When it was created."),
    updated_at: timestampField("When its settings changed last."),
    effects: effectsRecord.optional(),
    warnings: upgradeWarnings.optional(),
  })
  .openapi("Cluster", { example: exampleCluster });

export const clusterPage = pageSchema(clusterRecord, "ClusterPage");

export const clusterListQuery = pageQuery.extend({
  status: z.enum(CLUSTER_STATUSES).optional().openapi({ description: "Only clusters in this state." }),
  name: text(1, 63, "The whole name, letter case aside.").optional(),
  labels: labelSelectorQuery.optional(),
});

export const createClusterBody = z
  .strictObject({
    name: clusterName,
    k8s_version: versionField("MAJOR.MINOR.PATCH, or MAJOR.MINOR for its newest supported patch.", "1.34"),
    plan: z.enum(PACKAGE_SLUGS).nullish().openapi({
      description:
        "The package that the cluster is billed as; null or left out: billed per resource. One that has an unavailable_reason in the list of plans is refused (code `unsupported`).",
    }),
    public_endpoint: z.boolean().default(true).openapi({
      description: "Whether the API server gets a public address. Cannot be changed later.",
    }),
    authorized_cidrs: authorizedCidrs.optional(),
    labels: labelsSchema.optional(),
    ...deletionSettings,
    upgrade_checks: upgradeChecksSetting.optional(),
    node_pools: z
      .array(createNodePoolBody)
      .max(MAX_NODE_POOLS)
      .optional()
      .openapi({ description: "Pools to create with it; more can follow." }),
  })
  .openapi("CreateCluster", {
    example: {
      name: "production",
      k8s_version: "1.34",
      node_pools: [{ name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 3 }],
    },
  });

export type CreateClusterBody = z.output<typeof createClusterBody>;

/** A change of a cluster: omitted fields keep their values. What GET returns may be sent back unchanged. */
export const updateClusterBody = z
  .strictObject({
    name: clusterName.optional(),
    labels: replacedLabelsSchema.optional(),
    ...deletionSettings,
    upgrade_checks: upgradeChecksSetting.optional(),
    force: upgradeForce.optional(),
    k8s_version: versionField(
      "Another version than the current one starts an upgrade. MAJOR.MINOR is another one only when it is another minor.",
      "1.35",
    ).optional(),
    id: immutableField(z.unknown()),
    org_id: immutableField(z.unknown()),
    plan: immutableField(z.unknown()),
    public_endpoint: immutableField(z.unknown()),
    deletion_protection_state: readOnlyField,
    status: readOnlyField,
    status_message: readOnlyField,
    conditions: readOnlyField,
    current_version: readOnlyField,
    apiserver_url: readOnlyField,
    worker_subnet: readOnlyField,
    node_pools: readOnlyField,
    nodes: readOnlyField,
    upgrade_available: readOnlyField,
    generation: readOnlyField,
    observed_generation: readOnlyField,
    first_ready_at: readOnlyField,
    created_at: readOnlyField,
    updated_at: readOnlyField,
    effects: readOnlyField,
    warnings: readOnlyField,
  })
  .openapi("UpdateCluster", { example: { name: "production", k8s_version: "1.35" } });

export type UpdateClusterBody = z.output<typeof updateClusterBody>;

export const setSuspensionBody = z
  .strictObject({
    suspended: z.boolean().openapi({ description: "Whether nothing of the cluster may be changed." }),
  })
  .openapi("SetClusterSuspension", { example: { suspended: true } });

const KUBERNETES_VERSION_STATUSES = ["supported", "deprecated", "end_of_life"] as const;

const versionFields = {
  version: textField(16, "MAJOR.MINOR.PATCH.", "1.34.2"),
  status: z.enum(KUBERNETES_VERSION_STATUSES).openapi({
    description:
      "A deprecated version still runs and can be requested; one at its end of life cannot be requested.",
  }),
  deprecated_at: timestampField("When it becomes deprecated; null: not set.").nullable(),
  end_of_life_at: timestampField("When it reaches its end of life; null: not set.").nullable(),
};

export const kubernetesVersionRecord = z.object(versionFields).openapi("KubernetesVersion", {
  example: {
    version: "1.34.2",
    status: "supported",
    deprecated_at: null,
    end_of_life_at: "2027-10-27T00:00:00.000Z",
  },
});

const clusterUpgradeRecord = z
  .object({
    ...versionFields,
    checks: upgradeChecksField("What the upgrade finds in the cluster, for which it needs clusters:access."),
  })
  .openapi("ClusterUpgrade", {
    example: {
      version: "1.35.1",
      status: "supported",
      deprecated_at: null,
      end_of_life_at: "2027-10-27T00:00:00.000Z",
      checks: [],
    },
  });

export const clusterUpgradePage = pageSchema(clusterUpgradeRecord, "ClusterUpgradePage");

export const kubernetesVersionPage = pageSchema(kubernetesVersionRecord, "KubernetesVersionPage");

/** Characters of `workers_error`; the rest is cut off. */
export const MAX_WORKERS_ERROR_LENGTH = 4096;

export const upgradeBody = z
  .strictObject({
    target_version: versionField("MAJOR.MINOR.PATCH, or MAJOR.MINOR for its newest supported patch.", "1.35"),
    force: upgradeForce.optional(),
  })
  .openapi("UpgradeCluster", { example: { target_version: "1.35" } });

export const upgradeAccepted = z
  .object({
    cluster: clusterRecord,
    workers_total: countField(MAX_COUNT, "Node pools of the cluster.", 2),
    workers_patched: countField(MAX_COUNT, "Node pools that are upgraded with the cluster.", 2),
    workers_pending: countField(
      MAX_COUNT,
      "Node pools that are blocked; they are upgraded as soon as they can be.",
    ).optional(),
    workers_error: textField(MAX_WORKERS_ERROR_LENGTH, "The reasons, by node pool.").optional(),
    effects: effectsRecord.optional(),
    warnings: upgradeWarnings.optional(),
  })
  .openapi("UpgradeAccepted", {
    example: { cluster: exampleCluster, workers_total: 2, workers_patched: 2 },
  });
