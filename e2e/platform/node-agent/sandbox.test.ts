import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { canRunPods } from "./program.ts";
import { BASE_ENVIRONMENT, composeSandboxCommand } from "./sandbox.ts";

const folder = mkdtempSync(join(tmpdir(), "marina-sandbox-"));
afterAll(() => rmSync(folder, { recursive: true }));

const PROGRAM = `
const fs = require("node:fs");
const attempt = (run) => { try { return run(); } catch (error) { return error.code; } };
console.log(JSON.stringify({
  root: fs.readdirSync("/").filter((name) => !name.startsWith(".")).sort(),
  ids: [process.getuid(), process.getgid(), ...process.getgroups()],
  cwd: process.cwd(),
  args: process.argv.slice(2),
  mounted: fs.readFileSync("/etc/settings/a", "utf8"),
  written: [attempt(() => fs.writeFileSync("/x", "")), attempt(() => fs.writeFileSync("/app/x", "")),
    attempt(() => fs.writeFileSync("/scratch/x", ""))],
  rights: /CapEff:\\s*(\\S+)/.exec(fs.readFileSync("/proc/self/status", "utf8"))[1],
}));`;

test.skipIf(!canRunPods())(
  "a container sees its image and its mounts alone, read-only, and has another user and no right",
  async () => {
    for (const name of ["root", "app", "settings", "scratch"]) mkdirSync(join(folder, name));
    writeFileSync(join(folder, "app", "main.js"), PROGRAM);
    writeFileSync(join(folder, "settings", "a"), "it's");
    const [program = "", ...args] = composeSandboxCommand({
      root: join(folder, "root"),
      nodeBinary: process.execPath,
      mounts: [
        { source: join(folder, "scratch"), target: "/scratch", readOnly: false },
        { source: join(folder, "settings"), target: "/etc/settings", readOnly: true },
        { source: join(folder, "app"), target: "/app", readOnly: true },
      ],
      uid: 65_532,
      gid: 65_533,
      workingDir: "/app",
      command: ["node", "main", "it's one"],
    });
    const { stdout } = await promisify(execFile)(program, args, { env: BASE_ENVIRONMENT });
    expect(JSON.parse(stdout)).toEqual({
      root: ["app", "dev", "etc", "lib", "lib64", "nodejs", "proc", "scratch", "tmp", "usr"],
      ids: [65_532, 65_533, 65_533],
      cwd: "/app",
      args: ["it's one"],
      mounted: "it's",
      written: ["EROFS", "EROFS", "EACCES"],
      rights: "0000000000000000",
    });
  },
);
