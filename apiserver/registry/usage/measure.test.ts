import { expect, test } from "vitest";
import type { StoredManifest } from "../backend/backend.ts";
import { countUnread, readBlobs } from "./measure.ts";

const REPOSITORY = "org-1/web";
const MANIFEST_BYTES = 10;

/** A registry with these manifests and the stored sizes of blobs. */
function registryOf(manifests: Record<string, unknown>, sizes: Record<string, number>) {
  const asked: string[] = [];
  const backend = {
    findManifest: async (_repository: string, digest: string): Promise<StoredManifest | undefined> =>
      manifests[digest] === undefined
        ? undefined
        : { digest, mediaType: "", sizeBytes: MANIFEST_BYTES, text: "", content: manifests[digest] },
    findBlobSize: async (_repository: string, digest: string) => {
      asked.push(digest);
      return sizes[digest];
    },
  };
  return { backend, asked };
}

const sumOf = (blobs: Record<string, number> = {}) =>
  Object.values(blobs).reduce((sum, size) => sum + size, 0);

const descriptor = (digest: string, size = 0) => ({ digest, size });
const image = (...layers: string[]) => ({
  config: descriptor("config"),
  layers: layers.map((digest) => descriptor(digest)),
});
const index = (...digests: string[]) => ({ manifests: digests.map((digest) => descriptor(digest)) });

const readImage = (
  backend: ReturnType<typeof registryOf>["backend"],
  known = new Map<string, number>(),
  signal = new AbortController().signal,
) => readBlobs(backend, { repository: REPOSITORY, digest: "top" }, known, signal);

const read = (
  manifests: Record<string, unknown>,
  sizes: Record<string, number>,
  known = new Map<string, number>(),
) => readImage(registryOf(manifests, sizes).backend, known).then((found) => found?.blobs);

test("an image takes what the registry stores, whatever sizes its manifest claims", async () => {
  const manifest = { config: descriptor("config", 0), layers: [descriptor("a", 1), descriptor("a", 1)] };
  expect(await read({ top: manifest }, { config: 3, a: 500 })).toEqual({ top: 10, config: 3, a: 500 });
});

test("an index takes what its images take, those of an index in it too, each blob once", async () => {
  const manifests = {
    top: index("inner", "one"),
    inner: index("one", "two", "top"),
    one: image("a"),
    two: image("a", "b"),
  };
  expect(await read(manifests, { config: 1, a: 2, b: 3 })).toEqual({
    top: 10,
    inner: 10,
    one: 10,
    two: 10,
    config: 1,
    a: 2,
    b: 3,
  });
});

test("an image of very many blobs counts in full, in a bounded row", async () => {
  const layers = Array.from({ length: 5000 }, (_, n) => `layer-${n}`);
  const sizes = Object.fromEntries(layers.map((digest) => [digest, 100]));
  const blobs = (await read({ top: image(...layers) }, { ...sizes, config: 1 })) ?? {};
  expect(Object.keys(blobs).length).toBeLessThanOrEqual(1001);
  expect(sumOf(blobs)).toBe(5000 * 100 + 1 + MANIFEST_BYTES);
});

test("a blob whose size is known is not asked for again", async () => {
  const { backend, asked } = registryOf({ top: image("a", "b") }, { b: 2 });
  const known = new Map([
    ["config", 1],
    ["a", 7],
  ]);
  await readImage(backend, known);
  expect(asked).toEqual(["b"]);
  expect(known.get("b")).toBe(2);
});

test("an image that is gone takes nothing, and a missing part of one takes no bytes", async () => {
  expect(await read({}, {})).toBeUndefined();
  expect(await read({ top: image("gone") }, { config: 1 })).toEqual({ top: 10, config: 1, gone: 0 });
});

test("of nested indexes 1,000 manifests are read, and what was read counts", async () => {
  let manifests = 0;
  const backend = {
    findManifest: async (_repository: string, digest: string): Promise<StoredManifest> => {
      manifests += 1;
      const content = index(...Array.from({ length: 1000 }, (_, n) => `${digest}/${n}`));
      return { digest, mediaType: "", sizeBytes: MANIFEST_BYTES, text: "", content };
    },
    findBlobSize: async () => 0,
  };
  const found = await readImage(backend);
  expect([manifests, found?.isWhole]).toEqual([1000, false]);
  expect(sumOf(found?.blobs)).toBe(1000 * MANIFEST_BYTES);
});

test("of very many blobs as many are read as 10,000 requests find, and an image is whole without more", async () => {
  const layersOf = (count: number) => image(...Array.from({ length: count }, (_, n) => `layer-${n}`));
  const readLayers = async (count: number) => {
    const { backend, asked } = registryOf({ top: layersOf(count) }, {});
    return [asked, await readImage(backend)] as const;
  };
  const [asked, found] = await readLayers(20_000);
  expect([asked.length, found?.isWhole]).toEqual([9999, false]);
  const measured = sumOf(found?.blobs);
  expect(sumOf(found && countUnread(found, "top", 5000))).toBe(measured + 5000);
  const [, whole] = await readLayers(9000);
  expect(whole).toMatchObject({ isWhole: true });
  expect(whole && countUnread(whole, "top", 5000)).toEqual(whole?.blobs);
});

test("an image that is being read when the time is over takes nothing yet", async () => {
  const { backend, asked } = registryOf({ top: image("a", "b") }, {});
  const ended = new AbortController();
  const findBlobSize = (repository: string, digest: string) => {
    ended.abort();
    return backend.findBlobSize(repository, digest);
  };
  expect(await readImage({ ...backend, findBlobSize }, new Map(), ended.signal)).toBeUndefined();
  expect(asked).toEqual(["config"]);
});
