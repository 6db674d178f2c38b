import { Pool } from "undici";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { ensureCertificates } from "../platform/stack/certificates.ts";
import type { Stack } from "../platform/stack/stack.ts";
import { createFleet, createOrganization } from "./cluster-objects.ts";
import { type BenchRequest, CONNECTIONS, type Load, sendBatch } from "./load.ts";
import { median, until } from "./measure.ts";
import { readStackCpuSeconds } from "./proc.ts";
import type { Figure } from "./report.ts";
import type { SideBySide } from "./side-by-side.ts";

const CLUSTERS = 50;
const AT_LEAST = 3;

type Side = "marina" | "kubernetes";
/** Where each side serves one cluster. */
type Paths = Record<Side, string>;

interface Sample {
  perSecond: number;
  /** CPU milliseconds of one request. */
  cpuMs: number;
}

/**
 * Marina's GET of a cluster, compared with kube-apiserver's own GET of the same custom resource (HTTPS, a client
 * certificate), in alternating batches over 16 connections each: requests a second, and CPU of one request with that of
 * the store behind it, Postgres or etcd.
 */
export async function compareWithKubernetes(
  stack: Stack,
  runDir: string,
  { sides: { api, headers }, paths, load }: { sides: SideBySide; paths: readonly Paths[]; load: Load },
): Promise<Figure[]> {
  const { warmUpBatches, batches, batchSize, hasRateLimits } = load;
  const { ca, adminCert: cert, adminKey: key } = await ensureCertificates(runDir);
  const { server } = loadConnection(stack.info.kubeconfig);
  const kubernetes = new Pool(server, { connections: CONNECTIONS, connect: { ca, cert, key } });
  const sides = {
    marina: { pool: api, headers, programs: ["apiserver", "postgres"] },
    kubernetes: { pool: kubernetes, headers: {}, programs: ["kube-apiserver", "etcd"] },
  };

  async function measureBatch(side: Side, batch: number): Promise<Sample> {
    const { pool, headers: sent, programs } = sides[side];
    const toRequest = (n: number): BenchRequest => ({
      method: "GET",
      path: paths[n % CLUSTERS]?.[side] ?? "",
    });
    const [startedAt, before] = [performance.now(), readCpuSecondsOf(stack, programs)];
    await sendBatch(pool, sent, toRequest, { first: batch * batchSize, count: batchSize });
    const cpuSeconds = readCpuSecondsOf(stack, programs) - before;
    return {
      perSecond: (batchSize / (performance.now() - startedAt)) * 1000,
      cpuMs: (cpuSeconds / batchSize) * 1000,
    };
  }

  const samples: Record<Side, Sample[]> = { marina: [], kubernetes: [] };
  try {
    for (let batch = 0; batch < warmUpBatches + batches; batch++) {
      for (const side of ["marina", "kubernetes"] as const) {
        const sample = await measureBatch(side, batch);
        if (batch >= warmUpBatches) samples[side].push(sample);
      }
    }
  } finally {
    await kubernetes.destroy();
  }
  return describe(samples, hasRateLimits);
}

/** Made in the Kubernetes API, served by both: the paths of each cluster. */
export async function createClusters(
  stack: Stack,
  { api, headers }: Pick<SideBySide, "api" | "headers">,
): Promise<Paths[]> {
  const transport = createTransport({ connection: loadConnection(stack.info.kubeconfig) });
  try {
    const orgId = await createOrganization(stack, "Kubernetes reads");
    const fleet = await createFleet(createClient(transport), orgId, CLUSTERS);
    const { group, version, plural } = clusterKind;
    const paths = fleet.clusters.map(({ id, name }) => ({
      marina: `/api/v1/organizations/${orgId}/clusters/${id}`,
      kubernetes: `/apis/${group}/${version}/namespaces/${fleet.namespace}/${plural}/${name}`,
    }));
    await until("every cluster to be served", async () => {
      const responses = await Promise.all(
        paths.map(async ({ marina }) => {
          const { statusCode, body } = await api.request({ method: "GET", path: marina, headers });
          await body.dump();
          return statusCode;
        }),
      );
      return responses.every((status) => status === 200);
    });
    return paths;
  } finally {
    await transport.close();
  }
}

function readCpuSecondsOf(stack: Stack, programs: readonly string[]): number {
  const seconds = readStackCpuSeconds(stack);
  return programs.reduce((sum, name) => sum + (seconds.get(name) ?? Number.NaN), 0);
}

function describe(samples: Record<Side, Sample[]>, hasRateLimits: boolean): Figure[] {
  const rate = (side: Side) => median(samples[side].map(({ perSecond }) => perSecond));
  const cpu = (side: Side) => median(samples[side].map(({ cpuMs }) => cpuMs));
  return [
    { name: "GET a cluster: kube-apiserver", value: rate("kubernetes"), unit: "/s" },
    { name: "GET a cluster: Marina", value: rate("marina"), unit: "/s" },
    {
      name: "GET a cluster: Marina's rate to kube-apiserver's",
      value: rate("marina") / rate("kubernetes"),
      unit: "x",
      ...(hasRateLimits && { atLeast: AT_LEAST }),
    },
    { name: "GET a cluster: kube-apiserver and etcd, CPU", value: cpu("kubernetes"), unit: "ms" },
    { name: "GET a cluster: Marina and Postgres, CPU", value: cpu("marina"), unit: "ms" },
    {
      name: "GET a cluster: kube-apiserver's CPU to Marina's",
      value: cpu("kubernetes") / cpu("marina"),
      unit: "x",
      atLeast: AT_LEAST,
    },
  ];
}
