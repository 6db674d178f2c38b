import { compareKubernetesVersions } from "../../../shared/crd/kubernetes-version.ts";
import { KubeError } from "../../../shared/kube/errors.ts";
import type { TenantClient } from "../../../shared/tenant/tenant-client.ts";
import type { UpgradeCheck } from "../../node-pools/index.ts";

/** The labels of this metric are stable, and in the order of their names. Those of one that nobody removes do not match. */
const REQUESTED =
  /^apiserver_requested_deprecated_apis\{group="([\w.-]{0,150})",removed_release="([1-9]\d?\.[1-9]\d{0,2})",resource="([\w.-]{1,150})",subresource="[\w/-]{0,150}",version="(\w{1,150})"\} /;

/**
 * The APIs that were requested since the API server started and that `target` no longer serves, by the metric
 * `apiserver_requested_deprecated_apis`. Metrics grow with the cluster, to more than other responses may have: they are
 * read line by line.
 */
export async function* readRemovedApis(
  client: Pick<TenantClient, "readLines">,
  target: string,
): AsyncGenerator<UpgradeCheck> {
  const found = new Set<string>();
  let isOfApiServer = false;
  for await (const line of client.readLines("/metrics")) {
    isOfApiServer ||= line.startsWith("apiserver_");
    const [, group = "", release, resource = "", version = ""] = REQUESTED.exec(line) ?? [];
    const name = [resource, version, group].filter((part) => part !== "").join(".");
    if (release === undefined || found.has(name) || compareKubernetesVersions(release, target) > 0) continue;
    found.add(name);
    yield {
      check: "removed_api",
      severity: "blocking",
      object: { kind: "APIResource", namespace: null, name },
      message: `This API was requested since the API server started, and is removed in Kubernetes ${release}.`,
      fix: "Find who uses it, as the audit log or managedFields show, and move them to the version that replaces it.",
    };
  }
  // An API server always has metrics of its requests.
  const kubeMessage = "/metrics has none of an API server";
  if (!isOfApiServer) throw new KubeError({ status: 0, reason: "InvalidResponse", kubeMessage });
}
