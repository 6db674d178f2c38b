import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../../shared/program/errors.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";

// biome-ignore lint/suspicious/noExplicitAny: the version of a definition, as any change needs it
export type Any = any;

/** Changes the versions of a CustomResourceDefinition, runs `use` when that is served, and puts them back. */
export async function withDefinition(
  stack: StackInfo,
  name: string,
  change: (versions: Any[]) => void,
  use: () => Promise<void>,
): Promise<void> {
  const { stdout } = await kubectl(["get", "crd", name, "--output=json"], { stack });
  const { spec } = JSON.parse(stdout);
  const changed = structuredClone(spec.versions);
  change(changed);
  const paths = findChangedPaths(spec.group, spec.versions, changed);
  await putVersions(stack, name, paths, changed);
  try {
    await use();
  } finally {
    await putVersions(stack, name, paths, spec.versions);
  }
}

/**
 * Where a change is seen, each by a controller of its own: the kinds of a group and version, and the schemas of those
 * served.
 */
function findChangedPaths(group: string, before: Any[], after: Any[]): string[] {
  return before.flatMap((old, index) => {
    const version = after[index];
    if (old.served !== version.served) return [`/apis/${group}/${old.name}`];
    const isSeen = old.served && !isDeepStrictEqual(old.schema, version.schema);
    return isSeen ? [`/openapi/v3/apis/${group}/${old.name}`] : [];
  });
}

async function putVersions(
  stack: StackInfo,
  name: string,
  paths: readonly string[],
  versions: Any[],
): Promise<void> {
  const before = await waitFor("what is served", () => readAll(stack, paths));
  const patch = `--patch=${JSON.stringify({ spec: { versions } })}`;
  await kubectl(["patch", "crd", name, "--type=merge", patch], { stack });
  await waitFor("the change to be served", async () => {
    const now = await readAll(stack, paths);
    return now.every((text, index) => text !== before[index]);
  });
}

/** The text at each path; "" for a version of which no kind is served. */
function readAll(stack: StackInfo, paths: readonly string[]): Promise<string[]> {
  const texts = paths.map((path) =>
    kubectl(["get", "--raw", path], { stack }).then(
      ({ stdout }) => stdout,
      (error: unknown) => {
        if (messageOf(error).includes("(NotFound)")) return "";
        throw error;
      },
    ),
  );
  return Promise.all(texts);
}
