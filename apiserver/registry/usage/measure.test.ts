import { expect, test } from "vitest";
import type { StoredManifest } from "../backend/backend.ts";
import { readBlobs } from "./measure.ts";

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

const descriptor = (digest: string, size = 0) => ({ digest, size });
const image = (...layers: string[]) => ({
  config: descriptor("config"),
  layers: layers.map((digest) => descriptor(digest)),
});
const index = (...digests: string[]) => ({ manifests: digests.map((digest) => descriptor(digest)) });

const read = (
  manifests: Record<string, unknown>,
  sizes: Record<string, number>,
  known = new Map<string, number>(),
) => readBlobs(registryOf(manifests, sizes).backend, { repository: REPOSITORY, digest: "top" }, known);

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
  expect(Object.values(blobs).reduce((sum, size) => sum + size, 0)).toBe(5000 * 100 + 1 + MANIFEST_BYTES);
});

test("a blob whose size is known is not asked for again", async () => {
  const { backend, asked } = registryOf({ top: image("a", "b") }, { b: 2 });
  const known = new Map([
    ["config", 1],
    ["a", 7],
  ]);
  await readBlobs(backend, { repository: REPOSITORY, digest: "top" }, known);
  expect(asked).toEqual(["b"]);
  expect(known.get("b")).toBe(2);
});

test("an image that is gone takes nothing, and a missing part of one takes no bytes", async () => {
  expect(await read({}, {})).toBeUndefined();
  expect(await read({ top: image("gone") }, { config: 1 })).toEqual({ top: 10, config: 1, gone: 0 });
});
