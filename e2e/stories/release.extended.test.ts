import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { composeSigning, findNotes, type Release, release } from "../../release.ts";
import { readArchitecture } from "../../release-layers.ts";
import { ensureCrane, ensureGrype } from "../platform/stack/registry.ts";
import { readStack } from "../platform/stack/testing.ts";
import { type PlainRegistry, startPlainRegistry } from "../testing/plain-registry.ts";

const folder = mkdtempSync(join(tmpdir(), "marina-release-"));
const NODE = join(import.meta.dirname, "..", "..", "node_modules", "node", "bin", "node");
const version: string = JSON.parse(readFileSync("package.json", "utf8")).version;
const path = process.env.PATH ?? "";
let registry: PlainRegistry;
let host: string;
let grype: { amd64: string; arm64: string };
let made: Release;

const run = async (command: string, ...args: string[]) =>
  (await promisify(execFile)(command, args)).stdout.trim();

/** An image of this platform that has this program as its Node, and one for several platforms of such ones. */
async function pushBase(name: string, programs: Record<string, Buffer | string>): Promise<string> {
  const parts: string[] = [];
  for (const [architecture, program] of Object.entries(programs)) {
    const root = join(folder, `${name}-${architecture}`);
    mkdirSync(join(root, "nodejs", "bin"), { recursive: true });
    const file = join(root, "nodejs", "bin", "node");
    if (typeof program === "string") cpSync(program, file, { dereference: true });
    else writeFileSync(file, program);
    await run("tar", "--create", "--file", `${root}.tar`, "--directory", root, ".");
    const tag = `${host}/${name}:${architecture}`;
    await run("crane", "append", "--insecure", "--new_layer", `${root}.tar`, "--new_tag", tag);
    const platform = ["--set-platform", `linux/${architecture}`];
    parts.push(await run("crane", "mutate", "--insecure", ...platform, "--tag", tag, tag));
  }
  const manifests = parts.flatMap((part) => ["--manifest", part]);
  await run("crane", "index", "append", "--insecure", ...manifests, "--tag", `${host}/${name}:latest`);
  return `${host}/${name}:latest`;
}

/** As much of a program of this architecture as the release reads. */
function composeHeader(machine: number): Buffer {
  const header = Buffer.alloc(128);
  header.write("\x7fELF", "latin1");
  header.writeUInt16LE(machine, 18);
  return header;
}

beforeAll(async () => {
  registry = await startPlainRegistry(folder);
  host = registry.host;
  process.env.PATH = [dirname(await ensureCrane()), dirname(readStack().helm), path].join(delimiter);
  const base = await pushBase("node", { amd64: NODE, arm64: composeHeader(183) });
  grype = { amd64: await ensureGrype(), arm64: join(folder, "grype-arm64") };
  writeFileSync(grype.arm64, composeHeader(183));
  made = await release({ registry: host, base, grype, folder: join(folder, "out"), isPlainHttp: true });
});
afterAll(async () => {
  process.env.PATH = path;
  await registry.close();
  rmSync(folder, { recursive: true });
});

describe("a release pushes", () => {
  test("one image for both platforms, with the programs in one layer", async () => {
    const index = JSON.parse(await run("crane", "manifest", "--insecure", `${host}/marina:${version}`));
    const platforms = index.manifests.map(
      ({ platform }: { platform: { architecture: string } }) => platform.architecture,
    );
    expect(platforms).toEqual(["amd64", "arm64"]);
    const layers = await Promise.all(
      platforms.map(async (architecture: string) => {
        const of = ["--insecure", "--platform", `linux/${architecture}`, `${host}/marina:${version}`];
        const { config } = JSON.parse(await run("crane", "config", ...of));
        expect(config).toMatchObject({
          Entrypoint: ["node"],
          Cmd: ["apiserver"],
          User: "65532:65532",
          WorkingDir: "/app",
        });
        return JSON.parse(await run("crane", "manifest", ...of)).layers.at(-1).digest;
      }),
    );
    expect(new Set(layers).size).toBe(1);
  });

  test("programs that run with the Node of the image", async () => {
    const root = join(folder, "amd64");
    mkdirSync(root);
    const image = ["--insecure", "--platform", "linux/amd64", made.image, join(folder, "amd64.tar")];
    await run("crane", "export", ...image);
    await run("tar", "--extract", "--file", join(folder, "amd64.tar"), "--directory", root);
    const node = join(root, "nodejs", "bin", "node");
    const started = promisify(execFile)(node, ["apiserver"], { cwd: join(root, "app"), env: {} });
    await expect(started).rejects.toThrow(/MARINA_DATABASE_URL/);
  });

  test("the image of the scanner: that of the programs, with grype besides", async () => {
    for (const [architecture, program] of Object.entries(grype)) {
      const of = ["--insecure", "--platform", `linux/${architecture}`];
      const [programs, scanner] = await Promise.all(
        ["marina", "marina-scanner"].map(async (name) => {
          const image = `${host}/${name}:${version}`;
          const { config } = JSON.parse(await run("crane", "config", ...of, image));
          const { layers } = JSON.parse(await run("crane", "manifest", ...of, image));
          return { command: config.Cmd, layers: layers.map(({ digest }: { digest: string }) => digest) };
        }),
      );
      expect(programs?.layers).toEqual(scanner?.layers.slice(0, -1));
      expect([programs?.command, scanner?.command]).toEqual([["apiserver"], ["scanner"]]);
      const root = join(folder, `scanner-${architecture}`);
      mkdirSync(root);
      await run("crane", "export", ...of, made.scanner, `${root}.tar`);
      await run("tar", "--extract", "--file", `${root}.tar`, "--directory", root, "usr/local/bin/grype");
      expect(readFileSync(join(root, "usr/local/bin/grype")).equals(readFileSync(program))).toBe(true);
    }
    const { stdout } = await promisify(execFile)(join(folder, "scanner-amd64/usr/local/bin/grype"), [
      "version",
    ]);
    expect(stdout).toContain("linux/amd64");
  });

  test("what is in the folder as OCI layouts, which another registry takes with the same digests", async () => {
    const released = [made.image, made.scanner, ...made.charts];
    for (const name of released) {
      const [path = "", digest] = name.slice(`${host}/`.length).split("@");
      const layout = join(folder, "out", "oci", path);
      expect(JSON.parse(readFileSync(join(layout, "oci-layout"), "utf8"))).toEqual({
        imageLayoutVersion: "1.0.0",
      });
      const copy = `${host}/inside/${path}:${version}`;
      await run("crane", "push", "--insecure", layout, copy);
      expect(await run("crane", "digest", "--insecure", copy)).toBe(digest);
    }
    const chart = `oci://${host}/inside/charts/marina`;
    const shown = await run(readStack().helm, "show", "chart", chart, "--version", version, "--plain-http");
    expect(shown).toContain(`version: ${version}`);
  });

  test("the charts, each with the version of package.json", async () => {
    const { helm } = readStack();
    for (const chart of ["marina", "marina-classes"]) {
      const shown = await run(
        helm,
        "show",
        "chart",
        `oci://${host}/charts/${chart}`,
        "--version",
        version,
        "--plain-http",
      );
      expect(shown).toContain(`version: ${version}`);
    }
  });

  test("nothing else when it is made again: the images have the same digests", async () => {
    const again = await release({
      registry: host,
      base: `${host}/node:latest`,
      grype,
      folder: join(folder, "again"),
      isPlainHttp: true,
    });
    expect([again.image, again.scanner]).toEqual([made.image, made.scanner]);
  });
});

test("the commands that sign name images and charts by their digests, and attest the list of libraries", () => {
  const names = made.signing.map((words) => words.at(-1));
  expect(names).toEqual([made.image, made.scanner, ...made.charts, made.image]);
  expect(names.every((name) => /@sha256:[0-9a-f]{64}$/.test(name ?? ""))).toBe(true);
  const predicate = made.signing.at(-1)?.at(-2) ?? "";
  expect(JSON.parse(readFileSync(predicate, "utf8"))).toMatchObject({ bomFormat: "CycloneDX" });
  const written = readFileSync(join(folder, "out", "signing.sh"), "utf8");
  expect(written).toBe(`${made.signing.map((words) => words.join(" ")).join("\n")}\n`);
});

test.each([
  [
    "a key, and nothing is published",
    "cosign.key",
    " --key cosign.key --use-signing-config=false --tlog-upload=false",
  ],
  ["the identity of who signs", undefined, ""],
])("what is released is signed by %s", (_, key, option) => {
  const commands = composeSigning({ image: "i", others: ["c"], sbom: "s", key, isPlainHttp: false });
  expect(commands.map((words) => words.join(" "))).toEqual([
    `cosign sign --yes${option} --recursive i`,
    `cosign sign --yes${option} --recursive c`,
    `cosign attest --yes${option} --type cyclonedx --predicate s i`,
  ]);
});

test("nothing is pushed when Node in the base image, or grype, is for another platform", async () => {
  const base = await pushBase("mixed", { amd64: NODE, arm64: NODE });
  const place = { registry: `${host}/refused`, folder: join(folder, "refused"), isPlainHttp: true };
  await expect(release({ ...place, base, grype })).rejects.toThrow(`Node of ${base} for arm64 is for amd64`);
  const mixed = { amd64: grype.arm64, arm64: grype.arm64 };
  const refused = release({ ...place, base: `${host}/node:latest`, grype: mixed });
  await expect(refused).rejects.toThrow("grype for amd64 is for arm64");
  const { repositories } = JSON.parse(await (await fetch(`http://${host}/v2/_catalog`)).text());
  expect(repositories.filter((name: string) => name.startsWith("refused"))).toEqual([]);
});

test("the notes of a version are its section of the changelog, and without one there is no release", () => {
  expect(findNotes("# All\n\n## 1.1.0\n\nNew.\n\n## 1.0.0\n\nOld.\n", "1.1.0")).toBe("## 1.1.0\n\nNew.\n\n");
  expect(() => findNotes("# All\n\n## 1.0.0\n", "1.1.0")).toThrow("CHANGELOG.md has no section ## 1.1.0");
});

test.each([
  [62, "amd64"],
  [183, "arm64"],
  [8, undefined],
])("a program of ELF's machine %s is for %s", (machine, architecture) => {
  expect(readArchitecture(composeHeader(machine))).toBe(architecture);
});

test("a script is a program for no platform", () => {
  expect(
    readArchitecture(Buffer.from("#!/bin/sh\necho this is no program of any platform\n")),
  ).toBeUndefined();
});
