import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { createAuthority, issueCertificate } from "../../platform/local-provider/pki.ts";
import { kubectl, readStack, waitFor } from "../../platform/stack/testing.ts";
import { createRealCluster, describeWorkload, fetchKubeconfig, type RealCluster } from "./real-cluster.ts";

let cluster: RealCluster;

beforeAll(async () => {
  cluster = await createRealCluster(readStack(), "workloads");
});

afterAll(() => cluster?.remove());

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** A kubeconfig for the cluster's endpoint with this client certificate. */
async function writeKubeconfigWith(
  client: { certificate: string; key: string },
  name: string,
): Promise<string> {
  const config = parse(await readFile(cluster.kubeconfig, "utf8"));
  config.users[0].user = {
    "client-certificate-data": base64(client.certificate),
    "client-key-data": base64(client.key),
  };
  const file = `${cluster.kubeconfig}-${name}`;
  await writeFile(file, stringify(config), { mode: 0o600 });
  return file;
}

async function readAuthority() {
  const secret = JSON.parse(await cluster.manage("get", "secret", `${cluster.name}-ca`, "-o", "json"));
  const read = (key: string) => Buffer.from(secret.data[key], "base64").toString("utf8");
  return { certificate: read("tls.crt"), key: read("tls.key") };
}

test("the tenant's API is a Kubernetes of the requested minor", async () => {
  const { serverVersion } = await cluster.read("version");
  expect(serverVersion.gitVersion).toBe("v1.35.1");
  expect(await cluster.run(["get", "--raw", "/readyz"])).toBe("ok");
});

test("a Deployment rolls out behind a Service, with a disruption budget; a Job completes", async () => {
  await cluster.run(["apply", "-f", "-"], describeWorkload("web", 6, "50m", 3));
  await cluster.run(["expose", "deployment", "web", "--port=80"]);
  await cluster.run(["create", "job", "once", "--image=registry.example/job:1"]);
  await cluster.run(["rollout", "status", "deployment/web", "--timeout=400s"]);
  await cluster.run(["wait", "--for=condition=complete", "job/once", "--timeout=400s"]);
  const budget = await waitFor("the disruption budget to count the pods", async () => {
    const { status } = await cluster.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web");
    return status?.disruptionsAllowed === 3 ? status : undefined;
  });
  expect(budget.currentHealthy).toBe(6);
  await waitFor("the Service to have an endpoint for each pod", async () => {
    const slices = await cluster.get(
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dweb",
    );
    return slices.items[0].endpoints.length === 6;
  });
});

test("a custom resource is served, and its CEL rules apply", async () => {
  const schema = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { replicas: { type: "integer" }, limit: { type: "integer" } },
        "x-kubernetes-validations": [{ rule: "self.replicas <= self.limit", message: "more than the limit" }],
      },
    },
  };
  const names = { kind: "Widget", listKind: "WidgetList", plural: "widgets", singular: "widget" };
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names,
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
  const widget = (replicas: number) =>
    JSON.stringify({
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "one" },
      spec: { replicas, limit: 3 },
    });
  await cluster.run(["apply", "--server-side", "-f", "-"], JSON.stringify(crd));
  await cluster.run(["wait", "--for=condition=established", "crd/widgets.example.com", "--timeout=400s"]);
  // A kind that is established is not yet in what the API server says that it has.
  await waitFor("the kind to be served", () => cluster.run(["apply", "-f", "-"], widget(2)));
  await expect(cluster.run(["apply", "-f", "-"], widget(4))).rejects.toThrow("more than the limit");
});

test("a certificate of another authority with the same names is refused", async () => {
  const foreign = await createAuthority("kubernetes");
  const subject = { commonName: "kubernetes-admin", organizations: ["system:masters"] };
  const kubeconfig = await writeKubeconfigWith(await issueCertificate(foreign, subject), "foreign");
  await expect(kubectl(["get", "nodes"], { kubeconfig })).rejects.toThrow(/Unauthorized|must be logged in/);
});

test("old credentials are refused after a rotation, while another grant keeps working", async () => {
  const subject = { commonName: "someone", organizations: ["another:grant"] };
  const other = await writeKubeconfigWith(await issueCertificate(await readAuthority(), subject), "other");
  await cluster.run(["create", "clusterrolebinding", "other", "--clusterrole=view", "--group=another:grant"]);
  await waitFor("the other grant to work", () => kubectl(["get", "pods"], { kubeconfig: other }));
  await cluster.patch({ credentialsGeneration: 1 });
  await waitFor("the old admin kubeconfig to be refused", () =>
    cluster.run(["get", "pods"]).then(
      () => undefined,
      (error: Error) => error.message.includes("Forbidden"),
    ),
  );
  await kubectl(["get", "pods"], { kubeconfig: other });
  const old = await readFile(cluster.kubeconfig, "utf8");
  const fresh = await waitFor("new credentials", async () => {
    const text = await fetchKubeconfig(cluster.alice, cluster.path);
    return text === old ? undefined : text;
  });
  await writeFile(cluster.kubeconfig, fresh);
  await waitFor("the new admin kubeconfig to work", () => cluster.run(["get", "pods"]));
  await expect(kubectl(["get", "pods"], { kubeconfig: other })).resolves.toBeDefined();
});
