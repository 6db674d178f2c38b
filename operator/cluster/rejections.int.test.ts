import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import {
  ANNOTATION_IDENTITY,
  FINALIZER,
  LABEL_CLUSTER_ID,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../shared/crd/names.ts";
import { idleClusterSpec, openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import type { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";
import { makePool, START, settings } from "../testing.ts";
import { runCluster } from "./run.ts";
import { makeRunContext, makeRunDeps, showPlatform } from "./testing-run.ts";

const TEST = { fieldManager: "test" };
const admission = { group: "admissionregistration.k8s.io", version: "v1", namespaced: false } as const;
const policyKind = defineKind<KubeObject & { spec: object }>({
  ...admission,
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
});
const bindingKind = defineKind<KubeObject & { spec: object }>({
  ...admission,
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
});

let api: TestApi;
beforeEach(async () => {
  api = await openTestApi();
});
afterEach(async () => {
  await api.client.delete(bindingKind, undefined, api.namespace);
  await api.client.delete(policyKind, undefined, api.namespace);
  await api.close();
});

/** Rejects every cluster of the namespace: those with taints in the words of Cluster API where its gate is off. */
async function rejectTaints(): Promise<void> {
  const { client, namespace } = api;
  const pools = "object.spec.?topology.?workers.?machineDeployments.orValue([])";
  const rule = { apiGroups: ["cluster.x-k8s.io"], apiVersions: ["*"], resources: ["clusters"] };
  const validations = [
    {
      expression: `!${pools}.exists(pool, has(pool.taints))`,
      message: "taints are not allowed to be set when the feature gate MachineTaintPropagation is disabled",
    },
    { expression: "false", message: "rejected by the test" },
  ];
  const matchConstraints = { resourceRules: [{ ...rule, operations: ["CREATE", "UPDATE"] }] };
  await client.create(
    policyKind,
    { metadata: { name: namespace }, spec: { matchConstraints, validations } },
    TEST,
  );
  const labels = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  const spec = {
    policyName: namespace,
    validationActions: ["Deny"],
    matchResources: { namespaceSelector: labels },
  };
  await client.create(bindingKind, { metadata: { name: namespace }, spec }, TEST);
  const probe = { metadata: { name: "probe", namespace }, spec: { paused: true } };
  await expect
    .poll(() =>
      client
        .create(capiClusterKind, probe, { ...TEST, dryRun: true })
        .catch((error: KubeError) => error.kubeMessage),
    )
    .toContain("rejected by the test");
}

test("taints that Cluster API rejected are not sent again until their pools change", async () => {
  const { client, namespace } = api;
  await rejectTaints();
  const deps = makeRunDeps(client, () => new Date());
  const { caches } = deps;
  const platform = { namespace: settings.platformNamespace };
  const labels = { [LABEL_ORG_ID]: randomUUID() };
  const annotations = { "cloud.marina.dev/infrastructure-names": "per-namespace" };
  showPlatform(caches, { name: namespace, labels }, { name: "standard-v1", annotations });
  const sent: boolean[] = [];
  const counting = {
    ...client,
    apply: (...call: Parameters<typeof client.apply>) => {
      const [kind, object] = call;
      const topology = (object as CapiCluster).spec?.topology;
      const pools = topology?.workers?.machineDeployments ?? [];
      if (kind.kind === "Cluster" && topology !== undefined)
        sent.push(pools.some(({ taints }) => taints !== undefined));
      return client.apply(...call);
    },
  } as typeof client;
  const id = randomUUID();
  // With its defaults, and in the cache alone: the operator of the stack would write the status of one that exists, too.
  const made = await client.create(
    clusterKind,
    { metadata: { namespace, name: "demo" }, spec: idleClusterSpec },
    { ...TEST, dryRun: true },
  );
  const uid = randomUUID();
  const cluster = {
    ...made,
    metadata: {
      namespace,
      name: "demo",
      uid,
      creationTimestamp: START.toISOString(),
      labels: { ...labels, [LABEL_ID]: id },
      annotations: { [ANNOTATION_IDENTITY]: `new ${uid}` },
      finalizers: [FINALIZER],
    },
  };
  caches.clusters.set(cluster);
  const run = async () => {
    const labelSelector = `${LABEL_CLUSTER_ID}=${id}`;
    const allocations = await client.listAll(configMapKind, { ...platform, labelSelector });
    for (const one of allocations) caches.subnetAllocations.set(one);
    await runCluster(deps, objectKey(cluster), makeRunContext(counting));
  };
  const setPool = (key: string) =>
    caches.nodePools.set(
      makePool("gpu", { nodeTaints: [{ key, effect: "NoSchedule" }] }, { namespace, uid: key }),
    );

  setPool("gpu");
  // Its retry sees the allocation of the subnet, which this attempt has made.
  await expect(run()).rejects.toThrow("configmaps");
  expect(sent).toEqual([true]);
  await run();
  await run();
  expect(sent).toEqual([true, false, false]);
  setPool("other");
  await run();
  expect(sent).toEqual([true, false, false, true, false]);
});
