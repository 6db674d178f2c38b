import { execFile } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureGrype, writeVulnerabilityDatabase } from "../../platform/stack/registry.ts";
import { createTenant, expectStatus } from "../../testing/tenant.ts";
import { median, secondsSince, until } from "../measure.ts";
import { readMetrics } from "../operator/metrics.ts";
import { report } from "../report.ts";
import type { RegistryBench } from "./images.ts";

const IMAGE_BYTES = 50 * 1024 * 1024;
const ROUNDS = 7;
const SCAN_SECONDS = "marina_apiserver_image_scan_seconds_sum";

/** Scans of images of 50 MB, compared with grype alone on the same images, alternately. */
export async function benchScans({ info, folder, orgId, token, images }: RegistryBench): Promise<void> {
  const { host, scanner } = info.registry;
  const grype = await ensureGrype();
  await writeVulnerabilityDatabase(scanner.databaseDir, [
    { id: "CVE-2024-7777", severity: "critical", package: "zlib1g", fixVersion: "1:1.3-1" },
  ]);
  const alice = createTenant(info.apiUrl, info.tokens.alice);
  const scan = async (tag: string): Promise<number> => {
    const place = { orgID: orgId, repoName: "large", tag };
    const spent = async () => (await readMetrics(info.metrics.apiserver)).sum(SCAN_SECONDS);
    const before = await spent();
    expectStatus(202, await alice.call("requestTagScan", place));
    const isDone = async () => expectStatus(200, await alice.call("getTagScan", place)).Status === "Success";
    await until("a scan", isDone, { everyMs: 500 });
    // The metric is written after the result.
    await until("the metric of a scan", async () => (await spent()) > before);
    return (await spent()) - before;
  };
  const scanAlone = async (tag: string): Promise<number> => {
    const home = mkdtempSync(join(folder, "grype-"));
    const env = {
      HOME: home,
      TMPDIR: home,
      GRYPE_DB_CACHE_DIR: scanner.databaseDir,
      GRYPE_DB_AUTO_UPDATE: "false",
      GRYPE_DB_VALIDATE_AGE: "false",
      GRYPE_CHECK_FOR_APP_UPDATE: "false",
      GRYPE_REGISTRY_INSECURE_USE_HTTP: "true",
      GRYPE_REGISTRY_AUTH_AUTHORITY: host,
      GRYPE_REGISTRY_AUTH_USERNAME: "ci",
      GRYPE_REGISTRY_AUTH_PASSWORD: token,
    };
    const startedAt = performance.now();
    await promisify(execFile)(grype, [`registry:${host}/org-${orgId}/large:${tag}`, "-o", "json"], { env });
    return secondsSince(startedAt);
  };
  const [alone, scanned]: [number[], number[]] = [[], []];
  for (let n = 0; n <= ROUNDS; n++) {
    await images.push("large", String(n), IMAGE_BYTES);
    const times = [await scan(String(n)), await scanAlone(String(n))] as const;
    if (n === 0) continue;
    scanned.push(times[0]);
    alone.push(times[1]);
  }
  report("registry: scan of an image of 50 MB", [
    { name: "grype alone: median", value: median(alone), unit: "s" },
    { name: "scan: median", value: median(scanned), unit: "s" },
    { name: "scan: grype alone", value: median(scanned) / median(alone), unit: "x", limit: 1.3 },
  ]);
}
