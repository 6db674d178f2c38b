import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { choosePorts } from "../../platform/stack/ports.ts";
import { requireHttpOk } from "../../platform/stack/probes.ts";
import { waitFor } from "../../platform/stack/testing.ts";

const run = promisify(execFile);
const OSD_BYTES = 8 * 2 ** 30;
const USERNAME = "marina";

/** A Ceph of one monitor, one manager with its dashboard, and one disk that is a sparse file; on loopback. */
export interface CephCluster {
  url: string;
  username: string;
  passwordFile: string;
  /** Runs `ceph`, and resolves to its output. */
  ceph(...args: string[]): Promise<string>;
  /** Stores `bytes` as an object of a pool; rejects when that takes longer than the deadline, as on a full pool. */
  store(pool: string, name: string, bytes: number, timeoutMs: number): Promise<void>;
  /** Gives the operator's user another password; the file keeps its own until it is written. */
  setPassword(password: string): Promise<void>;
  writePassword(password: string): void;
  stopManager(): Promise<void>;
  startManager(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a new one in an empty folder, from the programs of Debian's packages ceph-mon, ceph-mgr-dashboard and
 * ceph-osd.
 */
export async function startCeph(dir: string): Promise<CephCluster> {
  rmSync(dir, { recursive: true, force: true });
  for (const part of ["mon", "mgr", "osd"]) mkdirSync(join(dir, part), { recursive: true });
  const ports = await choosePorts(dir, ["monitor", "manager"]);
  const id = randomUUID();
  const conf = join(dir, "ceph.conf");
  const keyring = join(dir, "keyring");
  const monitor = `[v2:127.0.0.1:${ports.monitor}]`;
  writeFileSync(conf, describeConf({ dir, id, monitor, keyring }));
  const tool = (program: string, ...args: string[]) => run(program, [...args, "-c", conf]);
  const ceph = async (...args: string[]) =>
    (await run("ceph", ["-c", conf, "--connect-timeout", "30", ...args])).stdout;
  const passwordFile = join(dir, "password");
  const url = `http://127.0.0.1:${ports.manager}`;
  const processes = new Map<string, ChildProcess>();

  function start(name: string, program: string, ...args: string[]): void {
    const log = openSync(join(dir, `${name}.out`), "a");
    processes.set(name, spawn(program, [...args, "-c", conf, "-f"], { stdio: ["ignore", log, log] }));
    closeSync(log);
  }

  async function stopProcess(name: string): Promise<void> {
    const child = processes.get(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  const mgrKeyring = join(dir, "mgr", "keyring");
  async function startManager(): Promise<void> {
    start("mgr", "ceph-mgr", "-i", "x", "--mgr-data", join(dir, "mgr"), "--keyring", mgrKeyring);
    await waitFor("the manager", () => requireHttpOk(`${url}/`).then(() => true));
  }

  const cluster: CephCluster = {
    url,
    username: USERNAME,
    passwordFile,
    ceph,
    async store(pool, name, bytes, timeoutMs) {
      const file = join(dir, "payload");
      writeFileSync(file, Buffer.alloc(bytes, 7));
      await run("rados", ["-c", conf, "-p", pool, "put", name, file], { timeout: timeoutMs });
    },
    async setPassword(password) {
      const file = join(dir, "new-password");
      writeFileSync(file, password);
      await ceph("dashboard", "ac-user-set-password", USERNAME, "-i", file, "--force-password");
    },
    writePassword: (password) => writeFileSync(passwordFile, password, { mode: 0o600 }),
    stopManager: () => stopProcess("mgr"),
    startManager,
    async stop() {
      for (const name of processes.keys()) await stopProcess(name);
      rmSync(dir, { recursive: true, force: true });
    },
  };

  try {
    const monmap = join(dir, "monmap");
    const admin = ["--gen-key", "-n", "client.admin", ...caps({ mon: "*", osd: "*", mgr: "*" })];
    await run("ceph-authtool", [
      "--create-keyring",
      keyring,
      "--gen-key",
      "-n",
      "mon.",
      ...caps({ mon: "*" }),
    ]);
    await run("ceph-authtool", [keyring, ...admin]);
    await run("monmaptool", ["--create", "--addv", "a", monitor, "--fsid", id, monmap]);
    const data = ["-i", "a", "--mon-data", join(dir, "mon")];
    await tool("ceph-mon", "--mkfs", ...data, "--monmap", monmap, "--keyring", keyring);
    start("mon", "ceph-mon", ...data);
    await waitFor("the monitor", () => ceph("-s"));
    await startDisk();
    const settings = { ssl: "false", server_addr: "127.0.0.1", server_port: String(ports.manager) };
    for (const [name, value] of Object.entries(settings))
      await ceph("config", "set", "mgr", `mgr/dashboard/${name}`, value, "--force");
    const mgrCaps = ["mon", "allow profile mgr", "osd", "allow *", "mds", "allow *"];
    await ceph("auth", "get-or-create", "mgr.x", ...mgrCaps, "-o", mgrKeyring);
    await startManager();
    cluster.writePassword("first-Passw0rd");
    const user = [USERNAME, "-i", passwordFile, "pool-manager", "--force-password"];
    await ceph("dashboard", "ac-user-create", ...user);
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }

  async function startDisk(): Promise<void> {
    const uuid = randomUUID();
    const data = join(dir, "osd");
    const key = join(data, "keyring");
    await ceph("osd", "new", uuid);
    await run("ceph-authtool", ["--create-keyring", key, "-n", "osd.0", "--gen-key"]);
    const osdCaps = ["mon", "allow profile osd", "mgr", "allow profile osd", "osd", "allow *"];
    await ceph("auth", "add", "osd.0", ...osdCaps, "-i", key);
    const disk = ["-i", "0", "--osd-data", data, "--keyring", key];
    await tool("ceph-osd", ...disk, "--mkfs", "--osd-uuid", uuid);
    start("osd", "ceph-osd", ...disk);
  }
}

function caps(rights: Record<string, string>): string[] {
  return Object.entries(rights).flatMap(([service, right]) => ["--cap", service, `allow ${right}`]);
}

interface Conf {
  dir: string;
  id: string;
  monitor: string;
  keyring: string;
}

/** One copy of everything, since there is one disk. The module `restful` does not load with Debian's Python. */
function describeConf({ dir, id, monitor, keyring }: Conf): string {
  const settings = {
    fsid: id,
    "mon host": monitor,
    "public addr": "127.0.0.1",
    "cluster addr": "127.0.0.1",
    keyring,
    "run dir": dir,
    "admin socket": join(dir, "$name.asok"),
    "log file": join(dir, "$name.log"),
    "pid file": join(dir, "$name.pid"),
    "mgr initial modules": "dashboard",
    "osd objectstore": "bluestore",
    "bluestore block size": OSD_BYTES,
    "osd memory target": 939_524_096,
    "osd crush chooseleaf type": 0,
    "osd pool default size": 1,
    "osd pool default min size": 1,
    "osd pool default pg autoscale mode": "off",
    "mon allow pool size one": true,
    "mon allow pool delete": true,
    "mon max pg per osd": 10_000,
  };
  return `[global]\n${Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join("")}`;
}
