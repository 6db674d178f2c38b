import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAX_OBJECT_NAME_LENGTH, OBJECT_NAME_PATTERN } from "../crd/fields.ts";
import { composeKubeconfig } from "./kubeconfig.ts";

/** Names of objects that YAML 1.1 or 1.2 reads as something else than a text, or that are as long as they may be. */
const HARD_NAMES = [
  "0 7 007 123 0123456789 08 0x1f 0o17 0b101 1e3 12e03 1e400 0e0 2026-11-27 1-2 0-0",
  "true false yes no on off y n null nan inf a prod",
  `${"9".repeat(MAX_OBJECT_NAME_LENGTH)} a${"-".repeat(MAX_OBJECT_NAME_LENGTH - 2)}z`,
].flatMap((names) => names.split(" "));
const RANDOM_NAMES = 300;
const CHARACTERS = "0123456789abcdefnostruyxl-e";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfigs-"));
});
afterAll(() => rm(folder, { recursive: true }));

function makeName(): string {
  const length = 1 + Math.floor(Math.random() * MAX_OBJECT_NAME_LENGTH);
  const characters = Array.from({ length }, () => CHARACTERS[Math.floor(Math.random() * CHARACTERS.length)]);
  return characters.join("").replace(/^-/, "0").replace(/-$/, "0");
}

/** How kubectl reads these files together, secrets included. */
async function readByKubectl(files: string[]) {
  const env = { ...process.env, KUBECONFIG: files.join(delimiter) };
  const { stdout } = await promisify(execFile)("kubectl", ["config", "view", "--raw", "--output=json"], {
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout);
}

test("kubectl reads the kubeconfig of a cluster of every name that an object may have", async () => {
  const names = [...new Set([...HARD_NAMES, ...Array.from({ length: RANDOM_NAMES }, makeName)])];
  expect(names.filter((name) => !OBJECT_NAME_PATTERN.test(name))).toEqual([]);
  const parts = names.map((cluster, n) => ({
    cluster,
    user: `${cluster}-admin`,
    server: `https://${cluster}.example.com:6443`,
    ca: `CA ${n}`,
    credential: n % 2 === 0 ? { token: String(n) } : { certificate: `CERT ${n}`, key: `KEY ${n}` },
  }));
  const files = await Promise.all(
    parts.map(async (part, n) => {
      const file = join(folder, `${n}.yaml`);
      await writeFile(file, composeKubeconfig(part));
      return file;
    }),
  );
  const read = await readByKubectl(files);
  const find = <T extends { name: string }>(all: T[], name: string) => all.find((one) => one.name === name);
  const encode = (text: string) => Buffer.from(text).toString("base64");
  for (const { cluster, user, server, ca, credential } of parts) {
    expect(find(read.contexts, cluster)).toMatchObject({ context: { cluster, user } });
    expect(find(read.clusters, cluster)).toMatchObject({
      cluster: { server, "certificate-authority-data": encode(ca) },
    });
    expect(find(read.users, user)).toMatchObject({
      user:
        "token" in credential
          ? { token: credential.token }
          : {
              "client-certificate-data": encode(credential.certificate),
              "client-key-data": encode(credential.key),
            },
    });
  }
  expect(read["current-context"]).toBe(names[0]);
});
