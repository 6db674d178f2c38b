import { buildNodeName } from "./builds.ts";

/** What does not work until some nodes of the table are done, and what can be said then. */
interface LaterPart {
  nodes: readonly string[];
  until: string;
  joined: string;
}

const LATER_PARTS: readonly LaterPart[] = [
  {
    nodes: ["operator", "local-provider", "kube-controller-manager"],
    until: 'clusters are accepted and stay "provisioning"',
    joined: "tenant clusters are created",
  },
  { nodes: [buildNodeName("kubectl")], until: "there is no kubectl", joined: "kubectl is there" },
  {
    nodes: ["object-store"],
    until: "attachments of tickets answer 503",
    joined: "attachments of tickets are stored",
  },
  {
    nodes: ["registry"],
    until: "the container registry answers 503",
    joined: "the container registry takes images",
  },
  {
    nodes: [buildNodeName("grype")],
    until: "scans of images are Pending",
    joined: "the scanner of images is there",
  },
  {
    nodes: [buildNodeName("helm")],
    until: "there is no helm, which only tests use",
    joined: "helm is there",
  },
];

const isMissing = ({ nodes }: LaterPart, pending: readonly string[]): boolean =>
  nodes.some((name) => pending.includes(name));

/** What does not work yet while these nodes are pending. */
export function describeMissing(pending: readonly string[]): string[] {
  return LATER_PARTS.filter((part) => isMissing(part, pending)).map(({ until }) => until);
}

/** What works now that did not while `before` was pending. */
export function describeJoined(before: readonly string[], now: readonly string[]): string[] {
  return LATER_PARTS.filter((part) => isMissing(part, before) && !isMissing(part, now)).map(
    ({ joined }) => joined,
  );
}
