import { Counter, Gauge, Histogram, type Registry } from "../../../shared/program/metrics.ts";
import type { Deps } from "../../deps.ts";
import { runLoop } from "../../work/loop.ts";
import { BackendError, type RegistryBackend } from "../backend/backend.ts";
import { createDistribution } from "../backend/distribution.ts";
import { toPull } from "../backend/oci.ts";
import type { ScannerConfig } from "../config.ts";
import { repositoryPrefix } from "../names.ts";
import { createReport } from "../report.ts";
import { type ClaimedScan, claimScan, endedAs, MAX_SCAN_ATTEMPTS, scanClaims } from "./claim-store.ts";
import { readDatabaseVersion, removeAbandonedWorkFolders } from "./database.ts";
import { findScanTarget } from "./manifest.ts";
import { recordReport } from "./record-report.ts";
import { ScanError, type ScanFault, toScannerUnavailable } from "./scan-error.ts";
import { createScannerProgram, type ScannerProgram } from "./scanner-program.ts";
import { requestOutdatedScans } from "./store.ts";

/** What scanning one digest came to. */
type ScanOutcome = { kind: "scanned" } | { kind: "unsupported"; reason: string };

interface ScanSteps {
  backend: Pick<RegistryBackend, "findManifest">;
  /** Scans the image of one manifest, and adds what it finds to the report. */
  scanManifest: (digest: string) => Promise<void>;
}

interface WorkerDeps extends Pick<Deps, "db" | "log" | "now"> {
  config: ScannerConfig;
  backend: RegistryBackend;
  /** `<host>[:<port>]` of the registry, and whether it speaks plain HTTP. */
  registry: { authority: string; isPlainHttp: boolean };
  metrics: ScannerMetrics;
  program: ScannerProgram;
  /** The scans of this process. One that has to run alone is, and so is what a process claims that ran none until it is known. */
  running: { count: number; isAlone: boolean };
}

const IDLE_MS = 2000;
/** While there is no database, or no scanner. */
const UNAVAILABLE_MS = 10_000;
const PLATFORM_RETRY_SECONDS = 60;
const IMAGE_RETRY_SECONDS = 30;
/** A claim outlives one image's time by this. */
const LEASE_MARGIN_SECONDS = 60;
/** Providers build a database a day. The first download is at once: the folder of a new Pod is empty. */
const DOWNLOAD_EVERY_MS = 4 * 3_600_000;
const DOWNLOAD_RETRY_MS = 300_000;
const OUTDATED_EVERY_MS = 60_000;
/** Images that were not pushed or pulled for longer are not scanned again. */
const USED_WITHIN_MS = 30 * 24 * 3_600_000;

/** Scans what is due, some images at once, until `signal` aborts; then what it has begun is pending again. */
function startScanner(deps: WorkerDeps, signal: AbortSignal): { stopped: Promise<void> } {
  const { concurrency, databaseUrl, socket } = deps.config;
  const loops = Array.from({ length: concurrency }, () => repeat(deps, signal, scanNext));
  loops.push(repeat(deps, signal, createRefresh()));
  if (databaseUrl !== undefined)
    loops.push(repeat(deps, signal, () => downloadDatabase(deps, databaseUrl, signal)));
  // The container of a scanner does so itself.
  if (socket === undefined) loops.push(removeAbandonedWorkFolders());
  return { stopped: Promise.all(loops).then(() => undefined) };
}

/** A failure is one of the platform: the work is tried again. */
function repeat(
  deps: WorkerDeps,
  signal: AbortSignal,
  work: (deps: WorkerDeps, signal: AbortSignal) => Promise<number>,
): Promise<void> {
  const options = { log: deps.log, signal, failure: "scanning is not possible", retryMs: UNAVAILABLE_MS };
  return runLoop(options, () => work(deps, signal));
}

async function scanNext(deps: WorkerDeps, signal: AbortSignal): Promise<number> {
  const { db, now, config, program, running } = deps;
  await program.requireThere();
  const databaseVersion = await readDatabaseVersion(config);
  if (running.isAlone) return IDLE_MS;
  const isIdle = running.count === 0;
  Object.assign(running, { count: running.count + 1, isAlone: isIdle });
  try {
    const scan = await claimScan(db, { at: now(), leaseSeconds: leaseSecondsOf(config), isIdle });
    if (scan === undefined) return IDLE_MS;
    running.isAlone = isIdle && scan.mustRunAlone;
    const startedMs = performance.now();
    try {
      await runScan(deps, scan, databaseVersion, signal);
      deps.metrics.onScan("done", (performance.now() - startedMs) / 1000);
    } catch (error) {
      await settleFailure(deps, scan, error, signal);
    }
    return 0;
  } finally {
    running.count -= 1;
    running.isAlone = false;
  }
}

function leaseSecondsOf({ timeoutSeconds }: ScannerConfig): number {
  return timeoutSeconds + LEASE_MARGIN_SECONDS;
}

async function runScan(
  deps: WorkerDeps,
  scan: ClaimedScan,
  databaseVersion: string,
  signal: AbortSignal,
): Promise<void> {
  const { db, now, config, backend, program } = deps;
  if (scan.attempts > MAX_SCAN_ATTEMPTS)
    throw new ScanError("failed", "the program that scans ended in each attempt");
  const report = createReport();
  const repository = `${repositoryPrefix(scan.orgId)}${scan.repository}`;
  const limits = { memoryBytes: config.memoryMiB * 1024 ** 2, diskBytes: config.diskMiB * 1024 ** 2 };
  const startedMs = performance.now();
  const scanManifest = async (digest: string) => {
    if (!(await scanClaims.extend(db, scan, leaseSecondsOf(config), { at: now() })))
      throw new ScanError("timeout", "the claim has ended");
    // All others wait for a scan that runs alone: the images of an index have the time of one together.
    const spentSeconds = scan.mustRunAlone ? Math.floor((performance.now() - startedMs) / 1000) : 0;
    const timeoutSeconds = config.timeoutSeconds - spentSeconds;
    if (timeoutSeconds <= 0) throw new ScanError("timeout", `its scan alone took ${spentSeconds} s`);
    const access = [toPull(repository)];
    const { token } = await backend.issueToken({ subject: "scanner", access, now: now() });
    const image = { ...deps.registry, repository, digest, token };
    await program.scan(report, { ...config, ...limits, timeoutSeconds }, image, signal);
  };
  const outcome = await scanImage({ backend, scanManifest }, repository, scan.digest);
  if (outcome.kind === "unsupported") {
    await scanClaims.complete(db, scan, endedAs("unsupported", null, outcome.reason));
    return;
  }
  await recordReport(db, scan, { report: report.toReport(), databaseVersion, at: now() });
}

/** Every way in which a scan ends without a result. */
async function settleFailure(
  deps: WorkerDeps,
  scan: ClaimedScan,
  thrown: unknown,
  signal: AbortSignal,
): Promise<void> {
  const { db, log, now } = deps;
  const postpone = (seconds: number, attempts: number, set: { fault?: ScanFault } = {}) =>
    scanClaims.postpone(db, scan, seconds, { at: now(), set: { ...set, state: "pending", attempts } });
  // What the image is not the cause of is no attempt.
  const before = scan.attempts - 1;
  if (signal.aborted) {
    await postpone(0, before);
    return;
  }
  const error = toScanError(thrown);
  const { fault, message } = error;
  deps.metrics.onScan(fault, undefined);
  if (fault === "image_gone") {
    await scanClaims.remove(db, scan);
    return;
  }
  log.warn({ orgId: scan.orgId, digest: scan.digest, fault, message }, "an image was not scanned");
  if (error.isOfPlatform) await postpone(PLATFORM_RETRY_SECONDS, before);
  else if (scan.attempts < MAX_SCAN_ATTEMPTS) await postpone(IMAGE_RETRY_SECONDS, scan.attempts, { fault });
  // The last report stays.
  else await scanClaims.complete(db, scan, endedAs("error", fault, message));
}

function toScanError(error: unknown): ScanError {
  if (error instanceof ScanError) return error;
  if (error instanceof BackendError) return new ScanError("registry_unavailable", error.message);
  return toScannerUnavailable(error);
}

/** Requests the scans again that another database made. Asks for the age of a database once. */
function createRefresh(): (deps: WorkerDeps) => Promise<number> {
  let agedVersion: string | undefined;
  return async ({ db, now, config, log, metrics, program }) => {
    await program.requireThere();
    const databaseVersion = await readDatabaseVersion(config);
    if (databaseVersion !== agedVersion) metrics.setDatabaseBuiltAt(await program.readDatabaseBuiltAt());
    agedVersion = databaseVersion;
    const at = now();
    const usedSince = new Date(at.getTime() - USED_WITHIN_MS);
    const count = await requestOutdatedScans(db, { databaseVersion, usedSince, at });
    if (count > 0) log.info({ count }, "images are scanned again with a new vulnerability database");
    return OUTDATED_EVERY_MS;
  };
}

/** Downloads the newest database. What failed is tried again, while scans go on with the database that is there. */
async function downloadDatabase(
  { program, log, metrics }: WorkerDeps,
  databaseUrl: string,
  signal: AbortSignal,
): Promise<number> {
  try {
    await program.updateDatabase(databaseUrl, signal);
    metrics.onDatabaseUpdate("done");
    return DOWNLOAD_EVERY_MS;
  } catch (error) {
    if (signal.aborted) return 0;
    metrics.onDatabaseUpdate("failed");
    log.warn({ message: toScanError(error).message }, "the vulnerability database was not downloaded");
    return DOWNLOAD_RETRY_MS;
  }
}

/** Scans the image of a digest, or every image of an index one after the other. Throws ScanError and BackendError. */
async function scanImage(
  { backend, scanManifest }: ScanSteps,
  repository: string,
  digest: string,
): Promise<ScanOutcome> {
  const target = await findTarget(backend, repository, digest);
  if (target.kind === "unsupported") return target;
  if (target.kind === "image") {
    await scanManifest(digest);
    return { kind: "scanned" };
  }
  let isScanned = false;
  for (const child of target.digests) {
    const { kind } = await findTarget(backend, repository, child);
    if (kind !== "image") continue;
    await scanManifest(child);
    isScanned = true;
  }
  if (!isScanned) return { kind: "unsupported", reason: "the index lists no image" };
  return { kind: "scanned" };
}

async function findTarget(backend: ScanSteps["backend"], repository: string, digest: string) {
  const manifest = await backend.findManifest(repository, digest);
  if (manifest === undefined) throw new ScanError("image_gone", `${digest} is not in the registry`);
  return findScanTarget(manifest.text);
}

/** Scans images until the signal aborts; nothing happens where no scanner is configured. */
export function startImageScanner(deps: Deps, signal: AbortSignal): { stopped: Promise<void> } {
  const { db, log, now, config, metrics } = deps;
  const { registry } = config;
  if (registry?.kind !== "distribution" || registry.scanner === undefined)
    return { stopped: Promise.resolve() };
  const { protocol, host } = new URL(registry.url);
  return startScanner(
    {
      db,
      log,
      now,
      config: registry.scanner,
      backend: createDistribution(registry, now),
      registry: { authority: host, isPlainHttp: protocol === "http:" },
      metrics: createScannerMetrics(metrics),
      program: createScannerProgram(registry.scanner),
      running: { count: 0, isAlone: false },
    },
    signal,
  );
}

interface ScannerMetrics {
  onScan(result: "done" | ScanFault, seconds: number | undefined): void;
  setDatabaseBuiltAt(at: Date): void;
  onDatabaseUpdate(result: "done" | "failed"): void;
}

/** What the scanner of this process did. */
function createScannerMetrics(registry: Registry): ScannerMetrics {
  const registers = [registry];
  const scans = new Counter({
    name: "marina_apiserver_image_scans_total",
    help: "Scans of images by this process, by result",
    labelNames: ["result"],
    registers,
  });
  const seconds = new Histogram({
    name: "marina_apiserver_image_scan_seconds",
    help: "Duration of finished scans of images",
    buckets: [1, 2, 5, 10, 30, 60, 120, 300, 600],
    registers,
  });
  const builtAt = new Gauge({
    name: "marina_apiserver_vulnerability_database_timestamp_seconds",
    help: "When the vulnerability database that scans use was built",
    registers,
  });
  const updates = new Counter({
    name: "marina_apiserver_vulnerability_database_updates_total",
    help: "Downloads of the vulnerability database by this process, by result",
    labelNames: ["result"],
    registers,
  });
  return {
    onScan(result, duration) {
      scans.inc({ result });
      if (duration !== undefined) seconds.observe(duration);
    },
    setDatabaseBuiltAt: (at) => builtAt.set(at.getTime() / 1000),
    onDatabaseUpdate: (result) => updates.inc({ result }),
  };
}
