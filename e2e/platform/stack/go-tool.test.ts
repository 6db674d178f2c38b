import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ensureGoTool, type PinnedTool, pathOfGoTool } from "./go-tool.ts";

const VERSION = "v1.0.0";
const PROGRAM = "example.com/program";
const API = `${PROGRAM}/api`;
const OTHER_SUM = `h1:${"A".repeat(43)}=`;
const folder = mkdtempSync(join(realpathSync(tmpdir()), "marina-go-tool-"));
/** The lines of go.sum on both modules. */
let sums: string[] = [];

const printing = (what: string) =>
  `package main\n\nimport "${API}"\n\nfunc main() { println("${what} with", api.Name) }\n`;

beforeAll(() => {
  // By default it is in the user's cache folder, where the programs go.
  vi.stubEnv("GOCACHE", execFileSync("go", ["env", "GOCACHE"], { encoding: "utf8" }).trim());
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
  vi.stubEnv("GOMODCACHE", join(folder, "modules"));
  vi.stubEnv("GOPROXY", `file://${join(folder, "proxy")}`);
  vi.stubEnv("GOSUMDB", "off");
  vi.stubEnv("GOTOOLCHAIN", "auto");
  const published = `module ${PROGRAM}\n\ngo 1.22.0\n\ntoolchain go1.99.0\n\nrequire ${API} ${VERSION}\n`;
  sums = [
    ...publish(PROGRAM, {
      "go.mod": `${published}\nreplace ${API} => ./api\n`,
      "go.sum": "",
      "first/main.go": printing("first"),
      "second/main.go": printing("second"),
    }),
    ...publish(API, {
      "go.mod": `module ${API}\n\ngo 1.22.0\n`,
      "api.go": 'package api\n\nconst Name = "api"\n',
    }),
  ];
});

afterAll(() => {
  vi.unstubAllEnvs();
  // Go writes modules without the right to delete them.
  execFileSync("chmod", ["-R", "u+w", folder]);
  rmSync(folder, { recursive: true });
});

function writeFiles(into: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(into, name)), { recursive: true });
    writeFileSync(join(into, name), text);
  }
}

/** Puts a module where Go finds it; returns its lines of go.sum. */
function publish(module: string, files: Record<string, string>): string[] {
  const source = mkdtempSync(join(folder, "source-"));
  writeFiles(source, files);
  const git = (...args: string[]) => execFileSync("git", args, { cwd: source, encoding: "utf8" }).trim();
  git("init", "--quiet");
  git("add", "--all", "--force");
  const at = join(folder, "proxy", module, "@v", VERSION);
  writeFiles(dirname(at), {
    [`${VERSION}.info`]: JSON.stringify({ Version: VERSION }),
    [`${VERSION}.mod`]: files["go.mod"] ?? "",
  });
  git("archive", "--format=zip", `--prefix=${module}@${VERSION}/`, `--output=${at}.zip`, git("write-tree"));
  const options = { cwd: makePins({ sums: [] }), encoding: "utf8" } as const;
  const output = execFileSync("go", ["mod", "download", "-json", `${module}@${VERSION}`], options);
  const { Sum, GoModSum } = JSON.parse(output);
  return [`${module} ${VERSION} ${Sum}`, `${module} ${VERSION}/go.mod ${GoModSum}`];
}

/** A new folder that pins both modules, with these sums. */
function makePins(pins: { sums: readonly string[]; others?: string; go?: string }): string {
  const at = mkdtempSync(join(folder, "pinned-"));
  const lines = [PROGRAM, API].map((name) => `\t${name} ${VERSION}\n`).join("");
  writeFiles(at, {
    "go.mod": `module example.com/pinned\n\ngo ${pins.go ?? "1.26.0"}\n\nrequire (\n${lines}${pins.others ?? ""})\n`,
    "go.sum": `${pins.sums.join("\n")}\n`,
  });
  return at;
}

const toolOf = (name: string, moduleDir: string): PinnedTool => ({
  name,
  goPackage: `${PROGRAM}/${name}`,
  moduleDir,
  module: PROGRAM,
});

test("a program is built by its module's own go.mod, with the module below it that is pinned, by the Go that is there", async () => {
  const program = await ensureGoTool(toolOf("first", makePins({ sums })));
  expect(spawnSync(program, { encoding: "utf8" }).stderr).toBe("first with api\n");
  const goMod = readFileSync(join(dirname(program), "module", "go.mod"), "utf8");
  // The programs of older modules get the defaults of GODEBUG that the others have.
  expect(goMod).toContain("\ngo 1.26.0\n");
  const older = await ensureGoTool(toolOf("first", makePins({ sums, go: "1.25.0" })));
  expect(older).not.toBe(program);
  expect(readFileSync(join(dirname(older), "module", "go.mod"), "utf8")).toContain("\ngo 1.25.0\n");
});

test.each(
  [0, 1, 2, 3].flatMap((line) => [
    { line, change: "another" as const },
    { line, change: "no" as const },
  ]),
)("a program is not built with $change sum in line $line of go.sum", async ({ line, change }) => {
  const changed = sums.flatMap((sum, index) => {
    if (index !== line) return sum;
    return change === "no" ? [] : sum.replace(/h1:.*/, OTHER_SUM);
  });
  const tool = toolOf("first", makePins({ sums: changed }));
  const message = change === "no" ? "missing go.sum entry" : "checksum mismatch";
  await expect(ensureGoTool(tool)).rejects.toThrow(message);
  expect(existsSync(await pathOfGoTool(tool))).toBe(false);
});

test("two programs of one module share nothing, built at once", async () => {
  const moduleDir = makePins({ sums });
  writeFiles(moduleDir, { "third/main.go": printing("third") });
  const third = { ...toolOf("third", moduleDir), goPackage: "./third", sources: ["third/main.go"] };
  const programs = await Promise.all([toolOf("second", moduleDir), third].map(ensureGoTool));
  const outputs = programs.map((program) => spawnSync(program, { encoding: "utf8" }).stderr);
  expect(outputs).toEqual(["second with api\n", "third with api\n"]);
  const [second = "", other = ""] = programs.map((program) => join(dirname(program), "module"));
  expect(existsSync(join(second, "third"))).toBe(false);
  expect(readFileSync(join(second, "go.mod"), "utf8")).toContain("module marina.dev/programs/second\n");
  expect(readFileSync(join(other, "go.mod"), "utf8")).toContain("module marina.dev/programs/third\n");
  writeFiles(moduleDir, { "third/main.go": printing("another third") });
  expect(await pathOfGoTool(toolOf("second", moduleDir))).toBe(programs[0]);
  expect(await pathOfGoTool(third)).not.toBe(programs[1]);
});

test("a program is built anew for another pin of its module or of one below it, and of no other module", async () => {
  const path = await pathOfGoTool(toolOf("first", makePins({ sums })));
  const others = `\texample.com/program-of-others ${VERSION}\n`;
  expect(await pathOfGoTool(toolOf("first", makePins({ sums, others })))).toBe(path);
  for (const [index, sum] of sums.entries()) {
    const changed = sums.with(index, sum.replace(/h1:.*/, OTHER_SUM));
    expect(await pathOfGoTool(toolOf("first", makePins({ sums: changed })))).not.toBe(path);
  }
});
