import { beforeAll, describe, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { ANNOTATION_REQUEST_ID, GROUP } from "../../shared/crd/names.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);

let place: { orgID: string; clusterID: string };
let engineer: Engineer;
let name: string;

/** A cluster by REST without machines, and a pipeline with the role that the chart has for it. */
beforeAll(async () => {
  const created = await alice.call("createOrganization", { body: { name: "Writers" } });
  const { id: orgID } = expectStatus(201, created);
  engineer = await createEngineer(stack, orgID);
  const rights = composePipelineRights(engineer.namespace).map((object) => JSON.stringify(object));
  await kubectl(["apply", "--server-side", "-f", "-"], { stdin: rights.join("\n---\n") });
  const body = { name: "Written by REST", k8s_version: "1.34.2", plan: "scale" as const };
  const { id: clusterID } = expectStatus(202, await alice.call("createCluster", { orgID, body }));
  place = { orgID, clusterID };
  const [cluster] = await engineer.client.listAll(clusterKind, { namespace: engineer.namespace });
  name = cluster?.metadata.name ?? "";
  const mayPatch = ["auth", "can-i", "patch", "clusters.cloud.marina.dev", ...asPipeline()];
  await waitFor("the role of the pipeline", () => kubectl(mayPatch));
  return () => engineer.close();
});

describe("a pipeline of the tenant that pretends to be Marina", () => {
  test.each(["marina-apiserver", "marina-operator", "marina-anything"])(
    "is refused as the field manager %s, and changes nothing",
    async (manager) => {
      const before = await engineer.getCluster(name);
      await expect(patchAsPipeline({ spec: { displayName: "Forged" } }, manager)).rejects.toThrow(
        /begins with marina- are Marina's own: use another --field-manager/,
      );
      const apply = ["apply", "--server-side", `--field-manager=${manager}`, "-f", "-", ...asPipeline()];
      const stdin = JSON.stringify({ ...aCluster(), metadata: { name: "forged" } });
      await expect(kubectl(apply, { stdin })).rejects.toThrow(/begins with marina-/);
      expect((await engineer.getCluster(name)).spec).toEqual(before.spec);
      expect(await engineer.client.get(clusterKind, engineer.namespace, "forged")).toBeUndefined();
    },
  );

  test("is refused with the id of a REST request", async () => {
    const annotations = { [ANNOTATION_REQUEST_ID]: "request-1" };
    await expect(patchAsPipeline({ metadata: { annotations } }, "pipeline")).rejects.toThrow(
      /are set by Marina alone/,
    );
  });
});

test("under its own name the pipeline changes what REST has written, and REST what the pipeline has", async () => {
  await patchAsPipeline({ spec: { displayName: "Written by a pipeline" } }, "pipeline");
  await waitFor("REST to serve the change", async () => {
    const cluster = expectStatus(200, await alice.call("getCluster", place));
    return cluster.name === "Written by a pipeline";
  });
  const body = { name: "Written by REST again" };
  expectStatus(200, await alice.call("updateCluster", { ...place, body }));
  expect((await engineer.getCluster(name)).spec.displayName).toBe("Written by REST again");
  const managers = await waitFor("the operator to write a status", async () => {
    const { metadata } = await engineer.getCluster(name);
    const all = metadata.managedFields?.map(({ manager }) => manager);
    return all?.includes("marina-operator-status") ? all : undefined;
  });
  expect(managers).toContain("marina-apiserver");
});

function asPipeline(): string[] {
  return [`--as=system:serviceaccount:${engineer.namespace}:pipeline`, `--namespace=${engineer.namespace}`];
}

function patchAsPipeline(body: object, manager: string): Promise<unknown> {
  const patch = ["patch", "clusters.cloud.marina.dev", name, "--type=merge", "-p", JSON.stringify(body)];
  return kubectl([...patch, `--field-manager=${manager}`, ...asPipeline()]);
}

function aCluster() {
  return { apiVersion: `${GROUP}/v1`, kind: "Cluster", spec: { version: "1.34.2", plan: "scale" } };
}

function composePipelineRights(namespace: string): object[] {
  const metadata = { name: "pipeline", namespace };
  const apiGroup = "rbac.authorization.k8s.io";
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup, kind: "ClusterRole", name: "marina-gitops" },
      subjects: [{ kind: "ServiceAccount", name: "pipeline", namespace }],
    },
  ];
}
