import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../../../shared/program/testing-deadlines.ts";
import type { ScannerConfig } from "../config.ts";
import { createReport } from "../report.ts";
import { createScannerProgram } from "./scanner-program.ts";
import { serveScanner } from "./scanner-server.ts";

let folder: string;
let socket: string;
let server: Server | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "marina-scanner-server-"));
  socket = join(folder, "scanner.sock");
  vi.stubEnv("TMPDIR", folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  server?.close();
  server?.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

const image = {
  authority: "127.0.0.1:9",
  repository: "org-1/web",
  digest: "sha256:1",
  token: "secret",
  isPlainHttp: true,
};
const ALWAYS = new AbortController().signal;

/** A configuration whose grype is this script. */
function configOf(script: string): ScannerConfig {
  const command = join(folder, "grype");
  writeFileSync(command, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return {
    command,
    socket,
    databaseDir: folder,
    databaseUrl: undefined,
    caDir: undefined,
    concurrency: 1,
    timeoutSeconds: 100,
    memoryMiB: 128,
    diskMiB: 64,
  };
}

const limits = { timeoutSeconds: 100, memoryBytes: 128 * 1024 ** 2, diskBytes: 64 * 1024 ** 2 };
const scan = async (config: ScannerConfig, signal = ALWAYS) => {
  const report = createReport();
  await createScannerProgram(config).scan(report, { ...config, ...limits }, image, signal);
  return report.toReport().vulnerabilities;
};

test("a scan in another process has the report, or the fault of the scan", async () => {
  server = await serveScanner(socket);
  expect(await scan(configOf(`echo '{"matches": []}'`))).toEqual([]);
  await expect(scan(configOf("kill -9 $$"))).rejects.toMatchObject({ fault: "out_of_memory" });
  await expect(scan(configOf("echo no JSON"))).rejects.toMatchObject({ fault: "failed" });
});

test("a scanner that starts deletes what a killed one has left of its scans", async () => {
  const left = join(folder, `marina-grype-${process.pid}-1-Ab3dEf`);
  mkdirSync(left);
  server = await serveScanner(socket);
  expect(existsSync(left)).toBe(false);
});

test("the database is read and downloaded in the other process", async () => {
  server = await serveScanner(socket);
  const built = createScannerProgram(configOf(`echo '{"built": "2026-11-01T00:00:00Z"}'`));
  expect(await built.readDatabaseBuiltAt()).toEqual(new Date("2026-11-01T00:00:00Z"));
  const update = createScannerProgram(configOf(`echo "$GRYPE_DB_UPDATE_URL" > "${folder}/asked"`));
  await update.updateDatabase("https://db.example.com", ALWAYS);
  const failing = createScannerProgram(configOf("exit 1"));
  await expect(failing.updateDatabase("https://db.example.com", ALWAYS)).rejects.toMatchObject({
    fault: "scanner_unavailable",
  });
});

test("a scan ends in the other process when the process that asked for it stops", async () => {
  server = await serveScanner(socket);
  const stopping = new AbortController();
  const pidFile = join(folder, "pid");
  const running = scan(configOf(`echo $$ > "${pidFile}"; exec sleep 600`), stopping.signal);
  const pid = await vi.waitFor(() => {
    const found = Number(readFileSync(pidFile, "utf8"));
    expect(found).toBeGreaterThan(0);
    return found;
  }, PATIENT);
  stopping.abort();
  await expect(running).rejects.toThrow("aborted");
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), PATIENT);
});

test("without the other process the fault is the platform's", async () => {
  const config = configOf("exec sleep 600");
  await expect(createScannerProgram(config).requireThere()).rejects.toMatchObject({
    fault: "scanner_unavailable",
  });
  await expect(scan(config)).rejects.toMatchObject({ fault: "scanner_unavailable" });
});

/** The program of the container, until it takes calls. */
async function startScanner(): Promise<ChildProcess> {
  const env = { ...process.env, MARINA_SCANNER_SOCKET: socket };
  const child = spawn(process.execPath, [join(import.meta.dirname, "scanner-main.ts")], {
    env,
    stdio: "ignore",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await vi.waitFor(() => scan(configOf(`echo '{"matches": []}'`)), PATIENT);
  return child;
}

test("that the other process is killed in a scan counts against the image, and the next one deletes what it left", async () => {
  const listWorkFolders = () => readdirSync(folder).filter((name) => name.startsWith("marina-grype-"));
  const scanner = await startScanner();
  const pidFile = join(folder, "pid");
  const outcome = scan(configOf(`echo $$ > "${pidFile}"; exec sleep 600`)).catch((error: unknown) => error);
  const pid = await vi.waitFor(() => {
    const found = Number(readFileSync(pidFile, "utf8"));
    expect(found).toBeGreaterThan(0);
    return found;
  }, PATIENT);
  scanner.kill("SIGKILL");
  expect(await outcome).toMatchObject({ fault: "out_of_memory" });
  expect(listWorkFolders()).toHaveLength(1);
  // With its container it would have ended too.
  process.kill(pid, "SIGKILL");
  await startScanner();
  expect(listWorkFolders()).toEqual([]);
});

test.each([
  ["an unknown fault", 500, '{"fault": "mine", "message": "x"}', "scanner_unavailable"],
  ["no JSON", 500, "no", "scanner_unavailable"],
  ["a report that is none", 200, "[]", "failed"],
  ["more bytes than a report has", 200, `{"matches": [${" ".repeat(65 * 1024 ** 2)}]}`, "failed"],
])("a scanner that was taken over and responds with %s is a fault", async (_what, status, body, fault) => {
  server = createServer((_request, response) => void response.writeHead(status).end(body)).listen(socket);
  await expect(scan(configOf("exit 1"))).rejects.toMatchObject({ fault });
});
