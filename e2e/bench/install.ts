import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { VERSION, writeEqualVersion, writeImage } from "../install/images.ts";
import { openRelease, type Release } from "../install/release.ts";
import { openTenantClusters, POOL } from "../install/tenant-clusters.ts";
import { requiredValues, storyValues, type Values } from "../install/values.ts";
import { DEFAULT_PROVIDER } from "../platform/stack/provider.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { expectStatus, type Feed, type Tenant } from "../testing/tenant.ts";
import { secondsSince, until } from "./measure.ts";
import { report } from "./report.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-install");
const CLUSTERS = 20;
const STREAMS_PER_CLUSTER = 25;
const REQUESTS_PER_SECOND = 50;

/**
 * Installs the chart into a prepared management cluster whose Pods are processes, and upgrades it from one version to
 * the next while tenants read, follow streams and create clusters.
 */
export async function benchInstall(): Promise<void> {
  const stack = await startStack({
    dir: DIR,
    provider: DEFAULT_PROVIDER,
    fresh: true,
    parts: "prepared",
    onCrash: "report",
  });
  try {
    await writeImage(DIR);
    // How the old replicas stop decides whether requests fail: that is measured of the programs of this tree.
    const previousChart = await writeEqualVersion(DIR, stack.info.helm);
    const release = await openRelease(stack.info, "marina-system");
    const startedAt = performance.now();
    await release.install(requiredValues(stack.info));
    const installSeconds = secondsSince(startedAt);
    await release.upgrade(loadValues(stack), previousChart);
    const upgrade = await upgradeUnderLoad(stack, release);
    report("install", [
      { name: "helm install --wait of two replicas each", value: installSeconds, unit: "s", limit: 30 },
      { name: "helm upgrade --wait under load", value: upgrade.seconds, unit: "s" },
      {
        name: "requests during the upgrade",
        value: upgrade.requests,
        unit: "",
        atLeast: upgrade.seconds * 45,
      },
      { name: "of them failed", value: upgrade.failures.length, unit: "", limit: 0 },
      { name: "streams that were broken off and resumed", value: upgrade.resumed, unit: "" },
      {
        name: "streams with a gap or another order than the rest",
        value: upgrade.unequal,
        unit: "",
        limit: 0,
      },
      { name: "machines rolled", value: upgrade.rolled, unit: "", limit: 0 },
    ]);
    for (const failure of new Set(upgrade.failures)) {
      const times = upgrade.failures.filter((one) => one === failure).length;
      console.log(`  failed ${times} times: ${failure}`);
    }
  } finally {
    await stack.stop();
  }
}

/** The limits of streams count all replicas and one user here. */
function loadValues({ info }: Stack): Values {
  const values = storyValues(info);
  const apiserver = values.apiserver as { extraEnv: object[] };
  const names = ["PRINCIPAL", "USER", "ORGANIZATION"].map((of) => `MARINA_MAX_STREAMS_PER_${of}`);
  const more = names.map((name) => ({ name, value: "5000" }));
  return { ...values, apiserver: { ...apiserver, extraEnv: [...apiserver.extraEnv, ...more] } };
}

async function upgradeUnderLoad(stack: Stack, release: Release) {
  const clusters = await openTenantClusters(stack.info, release);
  const { orgID } = clusters;
  const tenant = clusters.tenant();
  const paths: string[] = [];
  const feeds: Feed[][] = [];
  for (let number = 0; number < CLUSTERS; number++) {
    const body = { name: `c${number}`, k8s_version: "1.34.2", plan: "dev" as const, node_pools: [POOL] };
    const { id } = expectStatus(202, await tenant.call("createCluster", { orgID, body }));
    const path = `/organizations/${orgID}/clusters/${id}`;
    paths.push(path);
    feeds.push(Array.from({ length: STREAMS_PER_CLUSTER }, () => tenant.follow(`${path}/system-events`)));
  }
  const machinesBefore = await clusters.listMachines();
  const load = startLoad(tenant, paths);
  const startedAt = performance.now();
  await release.upgrade(loadValues(stack));
  await untilReplaced(release);
  const seconds = secondsSince(startedAt);
  const { requests, failures } = await load.stop();
  await until("all clusters to run", async () => {
    const { items } = expectStatus(200, await tenant.call("listClusters", { orgID }));
    return items.filter(({ status }) => status === "running").length === CLUSTERS;
  });
  await until("all streams to be equal", () => feeds.every(areEqual), { timeoutMs: 60_000 }).catch(
    () => undefined,
  );
  const machinesAfter = new Set(await clusters.listMachines());
  const all = feeds.flat();
  for (const feed of all) feed.close();
  return {
    seconds,
    requests,
    failures,
    resumed: all.filter(({ opened }) => opened > 1).length,
    unequal: feeds.flatMap((ofCluster) => ofCluster.filter((feed) => !isEqual(feed, ofCluster[0]))).length,
    rolled: machinesBefore.filter((uid) => !machinesAfter.has(uid)).length,
  };
}

/**
 * Event ids in the order of arrival, with "gap" where the stream reported missing events; without what only one stream
 * gets.
 */
function arrivals({ events }: Feed): string[] {
  return events
    .filter(({ event }) => event === "system-event" || event === "gap")
    .map(({ id, event }) => (event === "gap" ? "gap" : id));
}

/** From the first event that both have, for one of them was opened later. */
function isEqual(feed: Feed, other: Feed | undefined): boolean {
  const [one, two] = [arrivals(feed), other === undefined ? [] : arrivals(other)];
  const from = Math.max(...[one, two].map(([id = "0"]) => Number(id === "gap" ? 0 : id)));
  const after = (ids: readonly string[]) => ids.filter((id) => id === "gap" || Number(id) >= from);
  return after(one).join() === after(two).join() && !one.includes("gap");
}

function areEqual(feeds: readonly Feed[]): boolean {
  return feeds.every((feed) => isEqual(feed, feeds[0]));
}

/** Helm returns before the last old Pod is deleted. */
async function untilReplaced(release: Release): Promise<void> {
  const path = "--output=jsonpath={range .items[*]}{.spec.containers[0].image} {end}";
  await until("the old Pods to be gone", async () => {
    const images = (await release.kubectl(["get", "pods", path])).trim().split(" ");
    return images.every((image) => image.endsWith(VERSION));
  });
}

interface Load {
  stop(): Promise<{ requests: number; failures: string[] }>;
}

/** Sends requests at a fixed rate, whether or not the ones before have been answered. */
function startLoad(tenant: Tenant, paths: readonly string[]): Load {
  const failures: string[] = [];
  const pending = new Set<Promise<void>>();
  let requests = 0;
  let isOver = false;
  const send = async (number: number): Promise<void> => {
    const path = paths[number % paths.length] ?? "";
    const isWrite = number % 10 === 0;
    const name = `c${number % paths.length}`;
    const sent = isWrite ? tenant.request("PUT", path, { name }) : tenant.request("GET", path);
    await sent.then(
      ({ status }) => status !== 200 && failures.push(`${isWrite ? "PUT" : "GET"} ${status}`),
      (error: Error) =>
        failures.push(`${error.message} ${(error.cause as Error | undefined)?.message ?? ""}`),
    );
  };
  const sending = (async () => {
    const from = performance.now();
    while (!isOver) {
      const due = Math.floor(secondsSince(from) * REQUESTS_PER_SECOND);
      for (; requests < due; requests++) {
        const one = send(requests).finally(() => pending.delete(one));
        pending.add(one);
      }
      await sleep(5);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await sending;
      await Promise.all(pending);
      return { requests, failures };
    },
  };
}
