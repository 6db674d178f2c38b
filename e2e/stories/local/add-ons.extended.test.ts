import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubectl, readStack, waitFor } from "../../platform/stack/testing.ts";
import { withFile } from "../../testing/credentials.ts";
import {
  createRealCluster,
  fetchKubeconfig,
  getJson,
  type RealCluster,
  waitForRunning,
} from "./real-cluster.ts";

const stack = readStack();
const CLASS_NAMESPACE = "marina-system";
const ANNOTATION = "cloud.marina.dev/cluster-resource-sets";
const name = `agent-${randomUUID().slice(0, 8)}`;
const inNamespace = { metadata: { name: "agent", namespace: "platform-agent" } };

/** What an add-on of this size is: a Namespace, its rights, and a Deployment with so many replicas. */
function describeAddOn(replicas: number, namespace = "platform-agent"): string {
  const labels = { app: "agent" };
  const container = { name: "agent", image: "registry.example/agent:1" };
  const objects = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "platform-agent" } },
    { apiVersion: "v1", kind: "ServiceAccount", ...inNamespace },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      ...inNamespace,
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      ...inNamespace,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "agent" },
      subjects: [{ kind: "ServiceAccount", ...inNamespace.metadata }],
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "agent", namespace },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { serviceAccountName: "agent", containers: [container] } },
      },
    },
  ];
  return objects.map((object) => JSON.stringify(object)).join("\n---\n");
}

async function manage(...args: string[]): Promise<string> {
  return (await kubectl([...args, "-n", CLASS_NAMESPACE], { stack })).stdout;
}

async function apply(...items: object[]): Promise<void> {
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await kubectl(["apply", "-n", CLASS_NAMESPACE, "-f", "-"], { stack, stdin });
}

const manifests = (text: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels: { "cloud.marina.dev/add-on": "source" } },
  data: { "agent.yaml": text },
});

let first: RealCluster;
let clusterClass: string;

beforeAll(async () => {
  first = await createRealCluster(stack, "add-ons", { nodes: 1 });
  const capi = JSON.parse(await first.manage("get", "clusters.cluster.x-k8s.io", first.name, "-o", "json"));
  clusterClass = capi.spec.topology.classRef.name;
});

afterAll(async () => {
  await manage("annotate", "clusterclass", clusterClass, `${ANNOTATION}-`);
  await manage("delete", "clusterresourceset,configmap", name, "--ignore-not-found");
  await first.remove();
});

/** Waits for the condition of a cluster, and returns its message. */
function waitForAddOns(cluster: string, status: string, reason: string): Promise<string> {
  return waitFor(`AddOnsApplied of ${cluster} to be ${status}, ${reason}`, async () => {
    const read = await first.getManaged("cloud.marina.dev/v1", `clusters/${cluster}`);
    const conditions: { type: string; status: string; reason: string; message: string }[] =
      read.status.conditions;
    const found = conditions.find(({ type }) => type === "AddOnsApplied");
    if (found?.status === status && found.reason === reason) return found.message;
    throw new Error(JSON.stringify(found));
  });
}

const getOfFirst: RealCluster["get"] = (path) => first.get(path);

/** Waits until this Deployment of the add-on is in a cluster. */
function waitForReplicas(get: RealCluster["get"], replicas: number): Promise<unknown> {
  return waitFor(`the add-on to have ${replicas} replicas`, async () => {
    const { spec } = await get("/apis/apps/v1/namespaces/platform-agent/deployments/agent");
    return spec.replicas === replicas ? true : undefined;
  });
}

test("an add-on of the class arrives in clusters that are there, in new ones, and after a change in both; what cannot be applied is said", async () => {
  const organization = first.namespace.replace("org-", "");
  await apply({
    apiVersion: "addons.cluster.x-k8s.io/v1beta2",
    kind: "ClusterResourceSet",
    metadata: { name },
    spec: {
      strategy: "Reconcile",
      clusterSelector: { matchLabels: { "cloud.marina.dev/org-id": organization } },
      resources: [{ kind: "ConfigMap", name }],
    },
  });
  // The set selects this organization alone: the class is that of all other tests.
  await manage("annotate", "clusterclass", clusterClass, `${ANNOTATION}=${name}`);
  expect(await waitForAddOns(first.name, "False", "AddOnNotFound")).toContain(`ConfigMap ${name}`);
  await apply(manifests(describeAddOn(1)));
  await waitForAddOns(first.name, "True", "Applied");
  await waitForReplicas(getOfFirst, 1);
  const binding = await first.get(
    "/apis/rbac.authorization.k8s.io/v1/namespaces/platform-agent/rolebindings/agent",
  );
  expect(binding.subjects).toEqual([{ kind: "ServiceAccount", ...inNamespace.metadata }]);

  const { alice } = first;
  const clusters = `/organizations/${organization}/clusters`;
  const created = await alice.request("POST", clusters, { name: "second", k8s_version: "1.35" });
  expect(created.status).toBe(202);
  const path = `${clusters}/${created.body.id}`;
  await waitForRunning(alice, path, 0);
  const selector = `cloud.marina.dev/id=${created.body.id}`;
  const listed = await first.manage("get", "clusters.cloud.marina.dev", "-l", selector, "-o", "json");
  const second: string = JSON.parse(listed).items[0].metadata.name;
  await waitForAddOns(second, "True", "Applied");
  await withFile(await fetchKubeconfig(alice, path), async (kubeconfig) => {
    const getOfSecond: RealCluster["get"] = (path) => getJson(kubeconfig, path);
    await waitForReplicas(getOfSecond, 1);
    await apply(manifests(describeAddOn(2)));
    await waitForReplicas(getOfFirst, 2);
    await waitForReplicas(getOfSecond, 2);
  });

  await apply(manifests(describeAddOn(3, "elsewhere")));
  const message = await waitForAddOns(first.name, "False", "AddOnsFailed");
  expect(message).toContain(`cannot be applied to add-ons: ConfigMap ${name}`);
  const shown = await alice.request("GET", first.path);
  expect(shown.body.status).toBe("running");
  await apply(manifests(describeAddOn(3)));
  await waitForAddOns(first.name, "True", "Applied");
  await waitForReplicas(getOfFirst, 3);

  await first.manage("delete", "configmap", name);
  await waitFor("the copy to be made again", () => first.manage("get", "configmap", name));
  await manage("annotate", "clusterclass", clusterClass, `${ANNOTATION}-`);
  await waitFor("the copies to go", async () => {
    const left = await first.manage(
      "get",
      "configmap,clusterresourceset",
      name,
      "--ignore-not-found",
      "-o",
      "name",
    );
    return left.trim() === "" ? true : Promise.reject(new Error(left));
  });
  await waitForReplicas(getOfFirst, 3);
  await alice.request("DELETE", path);
});
