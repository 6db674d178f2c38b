import { expect, test } from "vitest";
import { objectKey } from "../../shared/kube/object.ts";
import type { TenantClient } from "../../shared/tenant/tenant-client.ts";
import type { RunContext } from "../caches.ts";
import { nameCaSecret, nameKubeconfigSecret } from "../capi/secrets.ts";
import { aCluster, anCapiCluster, NOW } from "../cluster/testing.ts";
import { SWEEP_PAUSE_MS } from "../tenant/sweep.ts";
import { createAccessHealth } from "../tenant/tenant-findings.ts";
import { createTestCaches } from "../testing-caches.ts";
import { runTenantBindings } from "./controller.ts";

const unused = () => Promise.reject(new Error("it is not called"));
const nothing = () => undefined;
/** A tenant with so many bindings that no connection reads all. */
const endless: TenantClient = {
  get: () => Promise.resolve(undefined),
  listPage: () => Promise.resolve({ items: [], next: "more" }),
  create: () => Promise.resolve(),
  delete: () => Promise.resolve(),
  readLines: () => expect.unreachable(),
  readCertificates: unused,
  send: unused,
};

function makeDeps() {
  const client = { get: unused } as never;
  const caches = createTestCaches();
  const cluster = aCluster();
  const key = objectKey(cluster);
  caches.clusters.set(cluster);
  caches.capiClusters.set(anCapiCluster());
  for (const secret of [nameCaSecret(key), nameKubeconfigSecret(key)]) {
    const [namespace = "", name = ""] = secret.split("/");
    const metadata = { namespace, name, uid: name, resourceVersion: "1" };
    caches.clusterSecrets.set({ apiVersion: "v1", kind: "Secret", metadata, lacksKey: true });
  }
  const accessHealth = createAccessHealth({ now: () => NOW, findStatus: nothing, onChange: nothing });
  const deps = {
    client,
    caches,
    apiserver: { namespace: "marina", name: "marina-apiserver" },
    tenants: {
      withTenant: (
        _cluster: unknown,
        _tenant: unknown,
        _signal: unknown,
        use: (client: TenantClient) => never,
      ) => use(endless),
      forget: () => undefined,
    },
    signers: { request: unused, forget: () => undefined } as never,
    accessHealth,
    now: () => NOW,
    random: () => 0,
    checked: new Set([key]),
    sweeps: new Map(),
    tenantFindings: { recordAdmins: () => undefined, recordGeneration: () => undefined },
  };
  return { deps, key };
}

test("more bindings than one connection reads are read on soon, however often that takes, and the cluster says so", async () => {
  const { deps, key } = makeDeps();
  const context = { signal: new AbortController().signal } as RunContext;
  for (let connection = 0; connection < 3; connection += 1)
    expect(await runTenantBindings(deps, key, context)).toEqual({ requeueAfterMs: SWEEP_PAUSE_MS });
  expect(deps.accessHealth.find(key).bindings?.failure?.message).toContain("the reading goes on");
});
