import { once } from "node:events";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { createFleet } from "./converged-fleet.ts";
import { readFleetOptions } from "./input.ts";

/**
 * Prints the objects of converged clusters as etcd holds them, one a line: key, tab, JSON. Arguments: the file of the
 * template, the tenants' API server as JSON, the number of the first and of the one after the last. The environment is
 * the operator's.
 */
async function main([templateFile, tenantJson, from, to]: string[]): Promise<void> {
  const options = await readFleetOptions(templateFile, tenantJson);
  const fleet = createFleet(options);
  const namespaces = new Set<string>();
  for (const object of options.template.shared) await print(object);
  for (let index = Number(from); index < Number(to); index++) {
    const converged = fleet.make(index);
    for (const object of converged.objects) {
      if (object.kind === "Namespace" && namespaces.has(object.metadata.name)) continue;
      if (object.kind === "Namespace") namespaces.add(object.metadata.name);
      await print(object);
    }
    fleet.forget(converged);
  }
}

async function print(object: KubeObject): Promise<void> {
  const { resourceVersion: _, ...metadata } = object.metadata;
  const line = `${keyOf(object)}\t${JSON.stringify({ ...object, metadata })}\n`;
  if (!process.stdout.write(line)) await once(process.stdout, "drain");
}

/** Where kube-apiserver keeps an object: custom resources under their group, its own kinds without one. */
function keyOf({ apiVersion, kind, metadata }: KubeObject): string {
  const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
  const plural = kind === "ClusterClass" ? "clusterclasses" : `${kind.toLowerCase()}s`;
  const isCustom = group !== "" && !group.endsWith(".k8s.io");
  const isCapi = group.endsWith("x-k8s.io");
  const parts = [isCustom || isCapi ? group : undefined, plural, metadata.namespace, metadata.name];
  return `/registry/${parts.filter((part) => part !== undefined).join("/")}`;
}

await main(process.argv.slice(2));
