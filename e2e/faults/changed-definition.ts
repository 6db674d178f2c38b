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
  await putVersions(stack, name, spec.group, changed);
  try {
    await use();
  } finally {
    await putVersions(stack, name, spec.group, spec.versions);
  }
}

async function putVersions(stack: StackInfo, name: string, group: string, versions: Any[]): Promise<void> {
  const paths = versions.flatMap((version) =>
    ["/apis", "/openapi/v3/apis"].map((root) => `${root}/${group}/${version.name}`),
  );
  const read = async () => {
    const texts = paths.map((path) =>
      kubectl(["get", "--raw", path], { stack }).then(
        (response) => response.stdout,
        () => "",
      ),
    );
    return (await Promise.all(texts)).join("");
  };
  const before = await read();
  const patch = `--patch=${JSON.stringify({ spec: { versions } })}`;
  await kubectl(["patch", "crd", name, "--type=merge", patch], { stack });
  await waitFor("the change to be served", async () => (await read()) !== before);
}
