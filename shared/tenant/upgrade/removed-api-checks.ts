import { compareKubernetesVersions } from "../../crd/kubernetes-version.ts";
import { KubeError } from "../../kube/errors.ts";
import type { TenantClient } from "../tenant-client.ts";
import type { Finding, UpgradeCheck } from "./upgrade-check.ts";

/** The labels of this metric are stable, and in the order of their names. Those of one that nobody removes do not match. */
const REQUESTED =
  /^apiserver_requested_deprecated_apis\{group="([\w.-]{0,150})",removed_release="([1-9]\d?\.[1-9]\d{0,2})",resource="([\w.-]{1,150})",subresource="[\w/-]{0,150}",version="(\w{1,150})"\} /;

/**
 * The APIs that were requested since the API server started and that a target no longer serves, by the metric
 * `apiserver_requested_deprecated_apis`. Metrics grow with the cluster, to more than other responses may have: they are
 * read line by line.
 */
export async function* readRemovedApis(
  client: Pick<TenantClient, "readLines">,
  targets: readonly string[],
): AsyncGenerator<Finding> {
  const found = new Set<string>();
  let isOfApiServer = false;
  for await (const line of client.readLines("/metrics")) {
    isOfApiServer ||= line.startsWith("apiserver_");
    const [, group = "", release, resource = "", version = ""] = REQUESTED.exec(line) ?? [];
    const name = [resource, version, group].filter((part) => part !== "").join(".");
    if (release === undefined || found.has(name)) continue;
    const concerned = targets.filter((target) => compareKubernetesVersions(release, target) <= 0);
    if (concerned.length > 0) found.add(name);
    for (const target of concerned) yield { target, check: toCheck(name, release) };
  }
  // An API server always has metrics of its requests.
  const kubeMessage = "/metrics has none of an API server";
  if (!isOfApiServer) throw new KubeError({ status: 0, reason: "InvalidResponse", kubeMessage });
}

function toCheck(name: string, release: string): UpgradeCheck {
  return {
    check: "removed_api",
    severity: "blocking",
    object: { kind: "APIResource", namespace: null, name },
    message: `This API was requested since the API server started, and is removed in Kubernetes ${release}.`,
    fix: "Find who uses it, as the audit log or managedFields show, and move them to the version that replaces it.",
  };
}
