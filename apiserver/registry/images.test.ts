import { expect, test, vi } from "vitest";
import type { NamesRequest } from "./backend/backend.ts";
import { deleteImages, hasImages, listTagNames } from "./images.ts";
import { MAX_TAGS } from "./names.ts";

/** A registry whose repositories all are there, and of which only some have a tag. */
function aRegistry(repositories: readonly string[], tagged: readonly string[]) {
  return {
    listRepositories: async (prefix: string, { after = "", limit }: NamesRequest) =>
      repositories.filter((name) => name.startsWith(prefix) && name > after).slice(0, limit),
    listTags: async (repository: string) => (tagged.includes(repository) ? ["1"] : []),
  };
}

const repositories = Array.from({ length: 1500 }, (_, n) => `org-1/r${String(n).padStart(4, "0")}`);

test.each([
  ["the last of 1,500 repositories has a tag", ["org-1/r1499"], true],
  ["none has one", [], false],
  ["another organization's has one", ["org-2/web"], false],
])("whether there are images when %s", async (_what, tagged, expected) => {
  const registry = aRegistry([...repositories, "org-2/web"], tagged);
  expect(await hasImages(registry, "org-1/")).toBe(expected);
});

test("a look at repositories without a tag ends after 25 s, with a fault of the registry", async () => {
  let nowMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  const registry = aRegistry(repositories, []);
  const listTags = () => {
    nowMs += 1000;
    return registry.listTags("");
  };
  try {
    await expect(hasImages({ ...registry, listTags }, "org-1/")).rejects.toMatchObject({ fault: "timeout" });
    expect(nowMs).toBe(25_000);
  } finally {
    clock.mockRestore();
  }
});

test("a deletion ends however much is pushed meanwhile, and removes tags that name nothing", async () => {
  const deleted: string[] = [];
  const registry = {
    findDigest: async (_repository: string, tag: string) => (tag === "broken" ? undefined : `sha256:${tag}`),
    deleteManifest: async (_repository: string, digest: string) => deleted.push(digest) > 0,
    deleteTag: async (_repository: string, tag: string) => deleted.push(tag) > 0,
  };
  await deleteImages(registry, "org-1/web", ["1", "broken", "2"]);
  expect(deleted).toEqual(["sha256:1", "sha256:2", "broken"]);
});

test.each([
  [3, 3],
  [MAX_TAGS, MAX_TAGS],
  [10 * MAX_TAGS, MAX_TAGS + 1],
])("of a repository with %i tags %i are read", async (count, expected) => {
  let pages = 0;
  const tags = Array.from({ length: count }, (_, n) => String(n).padStart(6, "0"));
  const listTags = async (_repository: string, { after = "", limit }: NamesRequest) => {
    pages += 1;
    const start = after === "" ? 0 : tags.indexOf(after) + 1;
    return tags.slice(start, start + limit);
  };
  expect(await listTagNames({ listTags }, "org-1/web")).toEqual(tags.slice(0, expected));
  expect(pages).toBeLessThanOrEqual(21);
});
