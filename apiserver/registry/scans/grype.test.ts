import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createReport } from "../report.ts";
import { createScannerProgram } from "./scanner-program.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "marina-scanner-test-"));
  // Scans of other tests have folders in the usual one.
  vi.stubEnv("TMPDIR", folder);
  vi.stubEnv("MARINA_DATABASE_URL", "postgres://secret");
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const image = {
  authority: "127.0.0.1:9",
  repository: "org-1/web",
  digest: "sha256:1",
  token: "secret",
  isPlainHttp: true,
};

const SCANNER = {
  socket: undefined,
  databaseUrl: undefined,
  caDir: undefined,
  concurrency: 1,
  timeoutSeconds: 100,
  memoryMiB: 128,
  diskMiB: 64,
};

/** A program in place of the scanner. */
function aProgram(name: string, script: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

async function scan(command: string, { signal = new AbortController().signal, timeoutSeconds = 100 } = {}) {
  const limits = { timeoutSeconds, memoryBytes: 128 * 1024 ** 2, diskBytes: 32 * 1024 ** 2 };
  const config = { ...SCANNER, command, databaseDir: folder };
  const report = createReport();
  await createScannerProgram(config).scan(report, { ...config, ...limits }, image, signal);
  return report.toReport().vulnerabilities;
}

const NODE = process.execPath;

test.each([
  ["is killed by the system", "kill -9 $$", "out_of_memory"],
  [
    "takes more memory than it may",
    `exec "${NODE}" -e 'globalThis.kept = Buffer.alloc(2.5e8, 1); setTimeout(() => {}, 60000)'`,
    "out_of_memory",
  ],
  [
    "unpacks more than it may",
    'dd if=/dev/zero of="$TMPDIR/layer" bs=1M count=64 2>&-; exec sleep 600',
    "out_of_disk",
  ],
  ["writes something else than a report", "echo no JSON", "failed"],
  ["fails without a word", "exit 1", "failed"],
  [
    "has no database",
    "echo failed to load vulnerability db: database does not exist >&2; exit 1",
    "scanner_unavailable",
  ],
])("a scanner that %s ends the scan and leaves no file behind", async (what, script, fault) => {
  await expect(scan(aProgram(what.replaceAll(" ", "-"), script))).rejects.toMatchObject({
    name: "ScanError",
    fault,
  });
  expect(readdirSync(folder).filter((name) => name.startsWith("marina-grype-"))).toEqual([]);
});

test("a scanner that never ends is ended after its time", async () => {
  const running = scan(aProgram("never-ends", "exec sleep 600"), { timeoutSeconds: 1 });
  await expect(running).rejects.toMatchObject({ name: "ScanError", fault: "timeout" });
});

test("a report of 100 MB is not read", async () => {
  const command = aProgram("long-report", "exec head -c 100000000 /dev/zero");
  await expect(scan(command)).rejects.toThrow("the report has more than 67108864 bytes");
});

test("a scanner that is not there is a fault of the platform", async () => {
  await expect(scan(join(folder, "missing"))).rejects.toMatchObject({ fault: "scanner_unavailable" });
});

test("a scan ends at once when the process is to stop", async () => {
  const stop = new AbortController();
  const running = scan(aProgram("endless", "exec sleep 600"), { signal: stop.signal });
  stop.abort(new Error("stopping"));
  await expect(running).rejects.toThrow("stopping");
});

test("the scanner sees no variable of this process, and its token not as an argument", async () => {
  const script = `printf '{"matches":[{"vulnerability":{"id":"%s","description":"%s"},"artifact":{"name":"%s"}}]}' "$*" "$GRYPE_REGISTRY_AUTH_TOKEN" "$MARINA_DATABASE_URL"`;
  expect(await scan(aProgram("environment", script))).toMatchObject([
    { ID: "registry:127.0.0.1:9/org-1/web@sha256:1 -o json", Description: "secret", Package: "" },
  ]);
});
