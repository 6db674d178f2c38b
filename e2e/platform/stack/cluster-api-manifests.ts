import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { fetchGoModule } from "./go-module.ts";
import type { Manifest } from "./kube-api.ts";

/** The four managers of Cluster API, by where their manifests are: a Go module and a folder in it. */
const PROVIDERS = {
  "capi-core": ["sigs.k8s.io/cluster-api", "core"],
  "capi-kubeadm-bootstrap": ["sigs.k8s.io/cluster-api", "bootstrap/kubeadm"],
  "capi-kubeadm-control-plane": ["sigs.k8s.io/cluster-api", "controlplane/kubeadm"],
  "capi-in-memory": ["sigs.k8s.io/cluster-api/test", "infrastructure/docker"],
} as const;

export type CapiManager = keyof typeof PROVIDERS;

export const CAPI_MANAGERS = Object.keys(PROVIDERS) as readonly CapiManager[];

/** What one manager needs in the cluster; the webhooks still name a Service. */
export type CapiManifests = Record<CapiManager, { crds: Manifest[]; webhooks: Manifest[] }>;

// Cluster API finds the versions of a contract by these labels; its kustomization adds them to the bare files.
const CONTRACT_LABELS = {
  "cluster.x-k8s.io/v1beta1": "v1beta1",
  "cluster.x-k8s.io/v1beta2": "v1beta2",
};

function withContractLabels(crd: Manifest): Manifest {
  return { ...crd, metadata: { ...crd.metadata, labels: { ...crd.metadata.labels, ...CONTRACT_LABELS } } };
}

function readCrds(folder: string): Manifest[] {
  return readdirSync(folder).map((file) =>
    withContractLabels(parse(readFileSync(join(folder, file), "utf8")) as Manifest),
  );
}

function readWebhooks(manager: CapiManager, file: string): Manifest[] {
  return parseAllDocuments(readFileSync(file, "utf8")).map((document) => {
    const webhook = document.toJS() as Manifest;
    return { ...webhook, metadata: { ...webhook.metadata, name: `${manager}-${webhook.metadata.name}` } };
  });
}

/**
 * Writes the CRDs and webhook configurations of the Cluster API version in go.mod to one JSON file: a start then
 * parses JSON (0.1 s) instead of 3 MB of YAML (3 s), and needs no Go module cache.
 */
export async function writeCapiManifests(moduleDir: string, file: string): Promise<void> {
  const entries = Object.entries(PROVIDERS).map(async ([manager, [module, folder]]) => {
    const config = join(await fetchGoModule(moduleDir, module), folder, "config");
    const crds = readCrds(join(config, "crd", "bases"));
    const webhooks = readWebhooks(manager as CapiManager, join(config, "webhook", "manifests.yaml"));
    return [manager, { crds, webhooks }] as const;
  });
  const draft = `${file}.${process.pid}.part`;
  writeFileSync(draft, JSON.stringify(Object.fromEntries(await Promise.all(entries))));
  renameSync(draft, file);
}

export function readCapiManifests(file: string): CapiManifests {
  return JSON.parse(readFileSync(file, "utf8"));
}
