import { afterAll, expect, test } from "vitest";
import { secretKind } from "../../../shared/kube/core-kinds.ts";
import { kubectl, readStack, waitFor } from "../../platform/stack/testing.ts";
import { withFile } from "../../testing/credentials.ts";
import { conditionOf, createEngineer, type Engineer } from "../../testing/custom-resources.ts";
import { createSimulatedTenant } from "../../testing/simulated-tenant.ts";
import { createRealCluster, fetchKubeconfig } from "./real-cluster.ts";

const stack = readStack();
const BY_HAND = { fieldManager: "test" };
/** No process listens there. */
const CLOSED = "https://127.0.0.1:1";
const engineers: Engineer[] = [];

afterAll(async () => {
  for (const engineer of engineers) await engineer.close();
});

function waitForAccess(engineer: Engineer, name: string, status: string, reason: string) {
  return waitFor(`access to be ${reason}`, async () => {
    const condition = conditionOf(await engineer.getCluster(name), "AccessReady");
    if (condition?.status === status && condition.reason === reason) return condition.message;
    throw new Error(JSON.stringify(condition));
  });
}

test("a cluster says that its kubeconfig cannot be issued, and then that its API server does not respond", async () => {
  const engineer = await createEngineer(stack);
  engineers.push(engineer);
  const { client, namespace } = engineer;
  await createSimulatedTenant(stack, engineer, "lost", CLOSED);
  const key = async (value: string) =>
    client.mergePatch(secretKind, namespace, "lost-ca", { data: { "tls.key": value } }, BY_HAND);
  const { data } = (await client.get(secretKind, namespace, "lost-ca")) ?? {};
  await key(btoa("no key"));
  // It may have been issued with the former key: another generation is issued in any case.
  await engineer.patchCluster("lost", { spec: { credentialsGeneration: 1 } });
  expect(await waitForAccess(engineer, "lost", "False", "CredentialsFailed")).toContain(
    "The admin kubeconfig of lost cannot be issued.",
  );
  await key(data?.["tls.key"] ?? "");
  expect(await waitForAccess(engineer, "lost", "False", "TenantAPIUnreachable")).toContain(
    "The rights of kubeconfigs cannot be set in lost: ",
  );
});

/** Refuses every new ClusterRoleBinding, as a tenant's own policies may. */
const POLICY = JSON.stringify({
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "no-bindings" },
      spec: {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ["rbac.authorization.k8s.io"],
              apiVersions: ["*"],
              resources: ["clusterrolebindings"],
              operations: ["CREATE"],
            },
          ],
        },
        validations: [{ expression: "false", message: "bindings come from our repository" }],
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "no-bindings" },
      spec: { policyName: "no-bindings", validationActions: ["Deny"] },
    },
  ],
});

test("a cluster whose policies refuse the bindings says so, revokes all the same, and gives access once they are gone", async () => {
  const real = await createRealCluster(stack, "refusing", { nodes: 0 });
  const engineer = await createEngineer(stack, real.namespace.replace("org-", ""));
  engineers.push(engineer);
  await waitFor("the kubeconfig to work", () => real.run(["get", "nodes"]));
  await real.run(["apply", "-f", "-"], POLICY);
  const bind = ["create", "clusterrolebinding", "probe", "--clusterrole=view", "--user=bob"];
  await waitFor("the policy to hold", () =>
    real.run([...bind, "--dry-run=server"]).then(
      () => undefined,
      (error: Error) => error.message.includes("our repository"),
    ),
  );

  expect((await real.alice.request("POST", `${real.path}/credentials/rotate`)).status).toBe(202);
  expect(await waitForAccess(engineer, real.name, "False", "BindingsFailed")).toContain(
    "bindings come from our repository",
  );
  await waitFor("the former kubeconfig to be refused", () =>
    real.run(["get", "nodes"]).then(
      () => undefined,
      (error: Error) => error.message.includes("Forbidden"),
    ),
  );

  const { data } = (await engineer.client.get(secretKind, real.namespace, `${real.name}-kubeconfig`)) ?? {};
  const policies = "validatingadmissionpolicybindings/no-bindings";
  await withFile(Buffer.from(data?.value ?? "", "base64").toString(), (kubeconfig) =>
    kubectl(["delete", policies], { kubeconfig }),
  );
  await waitFor(
    "access to be given",
    async () => conditionOf(await engineer.getCluster(real.name), "AccessReady") === undefined,
  );
  await waitFor("the new kubeconfig to work", async () =>
    withFile(await fetchKubeconfig(real.alice, real.path), (file) =>
      kubectl(["get", "nodes"], { kubeconfig: file }),
    ),
  );
  await real.remove();
});
