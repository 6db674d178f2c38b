import type { ConfigMap } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";

/** One converged cluster as the API server holds it, and what it shares with every other one. */
export interface Template {
  shared: KubeObject[];
  cluster: KubeObject[];
}

export const CLUSTERS_PER_ORGANIZATION = 10;

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/**
 * The objects of the template under other names: every uid and id, the cluster, its pools, its subnet, and for every
 * tenth copy the organization are new, wherever they stand. Copies of one number are equal.
 */
export function copyObjects(template: Template, index: number): KubeObject[] {
  const { text, pattern, names } = prepare(template);
  const number = String(index).padStart(5, "0");
  const organization = Math.floor(index / CLUSTERS_PER_ORGANIZATION);
  const [subnetX, subnetY] = [64 + Math.floor(index / 256), index % 256];
  const copied = text.replace(pattern, (found) => {
    if (found === names.organization) return toHex(organization) + found.slice(8);
    if (found === names.subnet) return `10.${subnetX}.${subnetY}`;
    if (found === names.dashedSubnet) return `10-${subnetX}-${subnetY}`;
    if (found === "template-cluster") return `c${number}`;
    if (found.startsWith("template-pool-")) return `c${number}-${found.slice("template-pool-".length)}`;
    return names.shared.has(found) ? found : toHex(index) + found.slice(8);
  });
  return JSON.parse(copied);
}

interface Prepared {
  text: string;
  pattern: RegExp;
  names: { organization: string; subnet: string; dashedSubnet: string; shared: ReadonlySet<string> };
}

const prepared = new WeakMap<Template, Prepared>();

function prepare(template: Template): Prepared {
  const known = prepared.get(template);
  if (known !== undefined) return known;
  const allocation = template.cluster.find(({ kind }) => kind === "ConfigMap") as ConfigMap | undefined;
  const namespace = template.cluster.find(({ kind }) => kind === "Namespace");
  const subnet = allocation?.data?.subnet?.replace(/\.0\/24$/, "");
  if (subnet === undefined || namespace === undefined) throw new Error("the template is not whole");
  const dashedSubnet = subnet.replaceAll(".", "-");
  const quoted = subnet.replaceAll(".", "\\.");
  const fresh: Prepared = {
    text: JSON.stringify(template.cluster.map(withoutVersion)),
    pattern: new RegExp(
      `${UUID}|template-cluster|template-pool-[ab]|${quoted}(?=\\.0/24)|${dashedSubnet}(?=-0)`,
      "g",
    ),
    names: {
      organization: namespace.metadata.name.replace(/^org-/, ""),
      subnet,
      dashedSubnet,
      shared: new Set(JSON.stringify(template.shared).match(new RegExp(UUID, "g"))),
    },
  };
  prepared.set(template, fresh);
  return fresh;
}

/** The store gives an object its version. */
function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The first 8 digits of a copy's UUIDs, which differ from the template's: the first digit is never that of a time. */
function toHex(index: number): string {
  return (0xf0000000 + index).toString(16);
}
