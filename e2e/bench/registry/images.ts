import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ensureCrane } from "../../platform/stack/registry.ts";
import type { StackInfo } from "../../platform/stack/stack-info.ts";

const run = promisify(execFile);

/** Pushes images of Debian 12 to the registry of a stack. */
export interface Images {
  /** One layer with so many bytes that cannot be compressed, under a tag. */
  push(repository: string, tag: string, bytes: number): Promise<void>;
  /** Another tag of an image that is there. */
  tag(repository: string, from: string, tag: string): Promise<void>;
}

/** What each part of the benchmark has. */
export interface RegistryBench {
  info: StackInfo;
  /** The run directory of the stack. */
  dir: string;
  /** For files that the end removes. */
  folder: string;
  orgId: string;
  /** An API token that may pull and push. */
  token: string;
  images: Images;
}

/** Signs in to the registry. */
export async function createImages({
  folder,
  host,
  orgId,
  token,
}: Pick<RegistryBench, "folder" | "orgId" | "token"> & { host: string }): Promise<Images> {
  const crane = await ensureCrane();
  const env = { ...process.env, DOCKER_CONFIG: join(folder, "docker") };
  const runCrane = (...args: string[]) => run(crane, args, { env });
  const nameOf = (repository: string, tag: string) => `${host}/org-${orgId}/${repository}:${tag}`;
  await runCrane("auth", "login", host, "-u", "bench", "-p", token);
  return {
    async push(repository, tag, bytes) {
      const layer = await packLayer(folder, bytes);
      await runCrane("append", "-f", layer, "-t", nameOf(repository, tag));
      rmSync(layer);
    },
    async tag(repository, from, tag) {
      await runCrane("tag", nameOf(repository, from), tag);
    },
  };
}

async function packLayer(folder: string, bytes: number): Promise<string> {
  const root = mkdtempSync(join(folder, "layer-"));
  const files = {
    "etc/os-release": 'ID=debian\nVERSION_ID="12"\n',
    "var/lib/dpkg/status":
      "Package: zlib1g\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:1.2.13-1\nDescription: none\n",
    "opt/data": randomBytes(bytes),
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  await run("tar", ["-cf", `${root}.tar`, "-C", root, "."]);
  rmSync(root, { recursive: true });
  return `${root}.tar`;
}
