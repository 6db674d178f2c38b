import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../platform/node-agent/kinds.ts";
import { rotateServerKeys } from "../platform/stack/certificates.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { writeImage } from "./images.ts";
import { openRelease, type Release } from "./release.ts";
import { openTenantClusters, type TenantClusters } from "./tenant-clusters.ts";
import { storyValues, type Values } from "./values.ts";
import { isJob, listMigrations } from "./ways.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "install-faults");
const MIGRATION = "--selector=app.kubernetes.io/component=migrate";
let stack: Stack;
let release: Release;
let clusters: TenantClusters;
let values: Values;

beforeAll(async () => {
  stack = await startStack({
    dir: DIR,
    provider: "local",
    fresh: true,
    parts: "prepared",
    onCrash: "report",
    tokenRefreshSeconds: 10,
  });
  await writeImage(DIR);
  release = await openRelease(stack.info, "tenancy");
  values = storyValues(stack.info);
  await release.install(values);
  clusters = await openTenantClusters(stack.info, release);
});
afterAll(() => stack?.stop());

interface PodSummary {
  name: string;
  uid: string;
  restarts: number;
}

async function listPods(program: string, ...options: string[]): Promise<PodSummary[]> {
  const selector = `--selector=app.kubernetes.io/component=${program}`;
  const { items } = JSON.parse(await release.kubectl(["get", "pods", selector, "--output=json", ...options]));
  return (items as Pod[]).map(({ metadata: { name, uid = "" }, status }) => ({
    name,
    uid,
    restarts: status?.containerStatuses?.[0]?.restartCount ?? 0,
  }));
}

/** The token that a Pod has now. */
function readToken({ uid }: PodSummary): string {
  const volumes = join(DIR, "pods", uid, "volumes");
  const name = readdirSync(volumes).find((one) => one.startsWith("kube-api-access-")) ?? "";
  return readFileSync(join(volumes, name, "token"), "utf8");
}

/** The status of a request that every authenticated user may make. */
function askWith(token: string): Promise<number> {
  const { server } = JSON.parse(readFileSync(stack.info.kubeconfig, "utf8")).clusters[0].cluster;
  const ca = readFileSync(join(DIR, "certificates", "ca.crt"));
  return new Promise((resolve, reject) => {
    const options = { ca, headers: { authorization: `Bearer ${token}` }, agent: false };
    const sent = request(`${server}/api`, options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once("error", reject);
    sent.end();
  });
}

describe("an installation in another namespace than the default", () => {
  test("passes helm test, and a tenant's cluster runs, while every token is replaced meanwhile", async () => {
    const before = await listPods("apiserver");
    const [apiserver] = before;
    const token = readToken(apiserver as PodSummary);
    await release.test();
    let round = 0;
    do expect(await clusters.createScaleAndDelete(`elsewhere-${round++}`)).toEqual([]);
    while (readToken(apiserver as PodSummary) === token);
    expect(await listPods("apiserver")).toEqual(before);
  });

  test("a second release in the cluster is refused with the name of the first, and leaves nothing", async () => {
    const second = await openRelease(stack.info, "second", "other");
    await expect(second.install(values)).rejects.toThrow(
      /Marina is installed in this cluster already, as the release marina in the namespace tenancy: upgrade that release/,
    );
    expect(await second.kubectl(["get", "deployments,jobs,services", "--output=name"])).toBe("");
  });

  test("goes on when the API server gets another certificate, and refuses every token of before", async () => {
    const before = await listPods("apiserver");
    const [token = ""] = before.map(readToken);
    expect(await askWith(token)).toBe(200);
    await rotateServerKeys(DIR);
    await stack.part("kube-apiserver").kill("SIGTERM");
    await stack.part("kube-apiserver").start();
    expect(await askWith(token)).toBe(401);
    // A token may also have been replaced while the former key still signed.
    const isAccepted = async (pod: PodSummary) => (await askWith(readToken(pod))) === 200;
    await waitFor("their new tokens", async () =>
      (await Promise.all(before.map(isAccepted))).every((accepted) => accepted),
    );
    expect(await clusters.createScaleAndDelete("after rotation")).toEqual([]);
    // None was restarted: each reads its new token.
    expect(await listPods("apiserver")).toEqual(before);
  });
});

/** Runs an upgrade whose migration waits for a lock while `during` runs. */
async function upgradeWhileLocked(during: () => Promise<void>): Promise<void> {
  const sql = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    await sql`select pg_advisory_lock(hashtextextended('marina:migrate', 0))`;
    // Another Pod template is another Job.
    const limits = { memory: "500Mi" };
    await release.upgrade({ ...values, migrate: { resources: { limits } } }, undefined, "--wait=hookOnly");
    await during();
  } finally {
    await sql.end();
  }
}

/** Looks at running Pods: those of an earlier migration may be left for a while. */
async function waitForMigration(
  what: string,
  isDone: (pods: PodSummary[]) => boolean,
): Promise<PodSummary[]> {
  return waitFor(what, async () => {
    const pods = await listPods("migrate", "--field-selector=status.phase=Running");
    return isDone(pods) ? pods : undefined;
  });
}

describe("a migration", () => {
  test("that is interrupted is taken up by another Pod", async () => {
    await upgradeWhileLocked(async () => {
      const [first] = await waitForMigration("the migration to begin", (pods) => pods.length > 0);
      await release.kubectl(["delete", "pod", first?.name ?? "", "--force", "--grace-period=0"]);
      await waitForMigration("another Pod", (pods) => pods.some(({ uid }) => uid !== first?.uid));
      expect((await clusters.tenant().call("listClusters", { orgID: clusters.orgID })).status).toBe(200);
    });
    await waitFor("the migration to be done", async () =>
      (await listMigrations(release)).every((job) => isJob(job, "Complete")),
    );
    await release.test();
  });

  test("with a wrong password fails the upgrade at its deadline, says so in its Pod, and leaves what runs alone", async () => {
    await createWrongSecret();
    const before = await listPods("apiserver");
    const reading = waitFor("the reason", async () => {
      const path = "--output=jsonpath={.items[*].status.containerStatuses[0].state.terminated.message}";
      const said = await release.kubectl(["get", "pods", MIGRATION, path]);
      // The first Pod may have given up before Postgres answered.
      return /password/i.test(said) ? said : Promise.reject(new Error(said));
    });
    const failing = {
      ...values,
      database: { existingSecret: "wrong-database" },
      // A slow machine must have a Pod refused within it.
      migrate: { deadlineSeconds: 60 },
    };
    await expect(release.upgrade(failing, undefined, "--timeout=120s")).rejects.toThrow(/marina-migrate/);
    expect(await reading).toMatch(/password/i);
    expect(await listPods("apiserver")).toEqual(expect.arrayContaining(before));
    expect((await clusters.tenant().call("listClusters", { orgID: clusters.orgID })).status).toBe(200);
  });
});

test("is uninstalled once all clusters are deleted", async () => {
  const all = ["clusters.cloud.marina.dev", "--all", "--all-namespaces"];
  await kubectl(["delete", ...all, "--timeout=300s"], { stack: stack.info });
  await release.uninstall();
  expect(await release.kubectl(["get", "deployments", "--output=name"])).toBe("");
});

async function createWrongSecret(): Promise<void> {
  const url = new URL(stack.info.databaseUrl);
  url.password = "wrong";
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "wrong-database", namespace: release.namespace },
    stringData: { url: String(url), ownerUrl: String(url) },
  };
  await kubectl(["apply", "-f", "-"], { stdin: JSON.stringify(secret), stack: stack.info });
}
