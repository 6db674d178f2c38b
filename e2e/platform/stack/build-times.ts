import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/** Seconds that each program took when it was built last on this machine. */
export type BuildTimes = Readonly<Record<string, number>>;

// Seconds of a first start on two cores with no other load, each program after those before it in this table, with
// which it shares packages.
const REFERENCE_SECONDS: BuildTimes = {
  "Go modules": 8,
  "etcd and kube-apiserver": 217,
  "Cluster API manifests": 2,
  "capi-core": 25,
  "capi-kubeadm-bootstrap": 10,
  "capi-kubeadm-control-plane": 10,
  "capi-in-memory": 30,
  "kube-controller-manager": 80,
  "kube-scheduler": 6,
  "kwok rules": 1,
  kwok: 9,
  kubectl: 15,
  versitygw: 40,
  registry: 40,
  grype: 120,
  helm: 22,
};
/** For a program that the table does not name. */
const UNKNOWN_SECONDS = 30;
/** Time of the calibration on the same two cores. */
const REFERENCE_CALIBRATION_MS = 60;
const REFERENCE_CORES = 2;
/** The part of a build that one core does alone: linking, and packages that all others wait for. */
const SERIAL_SHARE = 0.25;

const FILE = "build-times.json";

/** What the last builds took; empty before the first one, and when the file cannot be read. */
export function readBuildTimes(cacheDir: string): BuildTimes {
  try {
    return JSON.parse(readFileSync(join(cacheDir, FILE), "utf8"));
  } catch {
    return {};
  }
}

/** Keeps the time of one build for the estimates of later ones. */
export function recordBuildTime(cacheDir: string, name: string, seconds: number): void {
  const file = join(cacheDir, FILE);
  const draft = `${file}.${process.pid}.part`;
  const times = { ...readBuildTimes(cacheDir), [name]: Math.round(seconds * 10) / 10 };
  writeFileSync(draft, `${JSON.stringify(times, undefined, 2)}\n`);
  renameSync(draft, file);
}

/** How long this machine takes for a fixed computation on one core, in ms. */
function calibrate(): number {
  const startedAt = performance.now();
  let state = 1;
  for (let round = 0; round < 40_000_000; round += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  }
  // The result is used, so that the loop is not left out.
  return performance.now() - startedAt + (state === 0 ? 1 : 0);
}

/** The speed of this machine against the reference: seconds here for one second there. */
export function slownessOf({ calibrationMs, cores }: { calibrationMs: number; cores: number }): number {
  const shared = ((1 - SERIAL_SHARE) * REFERENCE_CORES) / cores;
  return (calibrationMs / REFERENCE_CALIBRATION_MS) * (SERIAL_SHARE + shared);
}

/** Expected seconds of a build: what the last one took here, else what this machine's speed lets expect. */
export function estimateBuildSeconds(name: string, times: BuildTimes, slowness: number): number {
  return times[name] ?? (REFERENCE_SECONDS[name] ?? UNKNOWN_SECONDS) * slowness;
}

/** Estimates for this machine, from what was built here before. */
export function createEstimate(cacheDir: string): (names: readonly string[]) => number {
  const times = readBuildTimes(cacheDir);
  let slowness: number | undefined;
  return (names) => {
    slowness ??= slownessOf({ calibrationMs: calibrate(), cores: availableParallelism() });
    const machine = slowness;
    return names.reduce((sum, name) => sum + estimateBuildSeconds(name, times, machine), 0);
  };
}
