import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { readStack } from "../../e2e/platform/stack/testing.ts";
import { composeAccessKubeconfig } from "./issue.ts";
import { ADMIN_KUBECONFIG, anyOddText } from "./testing-kubeconfig.ts";

const NAMES = 200;
/** kubectl merges the files of a list: one process reads so many. */
const FILES_AT_ONCE = 50;

interface MergedKubeconfig {
  clusters: { name: string }[];
  users: { name: string; user: { token: string } }[];
  contexts: { name: string; context: { cluster: string; user: string } }[];
}

test("kubectl itself reads every name and token as it is, whatever it looks like", async () => {
  const folder = await mkdtemp(join(tmpdir(), "marina-kubeconfig-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const odd = new Set(fc.sample(anyOddText, 3 * NAMES));
  // No cluster is without a name.
  odd.delete("");
  const names = [...odd].slice(0, NAMES);
  expect(names).toHaveLength(NAMES);
  const files = await Promise.all(
    names.map(async (name, index) => {
      const file = join(folder, String(index));
      await writeFile(file, composeAccessKubeconfig(name, ADMIN_KUBECONFIG, { user: "u", token: name }));
      return file;
    }),
  );
  for (let start = 0; start < NAMES; start += FILES_AT_ONCE) {
    const some = names.slice(start, start + FILES_AT_ONCE);
    const read = await readMerged(files.slice(start, start + FILES_AT_ONCE));
    expect(new Set(read.clusters.map(({ name }) => name))).toEqual(new Set(some));
    expect(new Set(read.contexts.map(({ name, context }) => [name, context.cluster, context.user]))).toEqual(
      new Set(some.map((name) => [name, name, `${name}-u`])),
    );
    expect(new Set(read.users.map(({ user }) => user.token))).toEqual(new Set(some));
  }
});

async function readMerged(files: readonly string[]): Promise<MergedKubeconfig> {
  const { stdout } = await promisify(execFile)(
    readStack().kubectl,
    ["config", "view", "--raw", "--output", "json"],
    { env: { KUBECONFIG: files.join(delimiter) } },
  );
  return JSON.parse(stdout);
}
