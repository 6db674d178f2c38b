import { expect, test } from "vitest";
import { findScanTarget } from "./manifest.ts";

const config = { mediaType: "application/vnd.oci.image.config.v1+json", digest: "sha256:c", size: 10 };
const layer = { mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest: "sha256:l", size: 10 };
const image = { config, layers: [layer] };
const unsupported = { kind: "unsupported", reason: expect.any(String) };

test.each<[string, unknown, object]>([
  ["an image", image, { kind: "image" }],
  [
    "an image of Docker",
    { ...image, config: { ...config, mediaType: "application/vnd.docker.container.image.v1+json" } },
    { kind: "image" },
  ],
  ["an artifact", { ...image, artifactType: "application/x" }, unsupported],
  ["an attached artifact", { ...image, subject: { digest: "sha256:x" } }, unsupported],
  [
    "a Helm chart",
    { ...image, config: { ...config, mediaType: "application/vnd.cncf.helm.config.v1+json" } },
    unsupported,
  ],
  ["10,000 layers", { config, layers: Array.from({ length: 10_000 }, () => layer) }, unsupported],
  ["a layer of an exabyte", { config, layers: [{ ...layer, size: 1e18 }] }, unsupported],
  ...[
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.image.rootfs.diff.tar.zstd",
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
    "",
  ].map((mediaType): [string, unknown, object] => [
    `a layer of the type "${mediaType}" with a URL`,
    { config, layers: [layer, { ...layer, mediaType, urls: ["http://10.0.0.1/"] }] },
    unsupported,
  ]),
  // The scanner is written in Go, whose JSON takes a name in any case.
  ["a layer with Urls", { config, layers: [{ ...layer, Urls: ["http://10.0.0.1/"] }] }, unsupported],
  [
    "a configuration with a URL",
    { config: { ...config, urls: ["http://10.0.0.1/"] }, layers: [layer] },
    unsupported,
  ],
  [
    "layers under two names that differ in case",
    { config, layers: [layer], Layers: [{ ...layer, urls: ["http://10.0.0.1/"] }] },
    unsupported,
  ],
  [
    "layers with an empty list of URLs, and an annotation of that name",
    { config, layers: [{ ...layer, urls: [] }], annotations: { urls: "https://example.com" } },
    { kind: "image" },
  ],
  [
    "an index that names a URL for an image",
    { manifests: [{ digest: "sha256:a", size: 1, urls: ["http://10.0.0.1/"] }] },
    unsupported,
  ],
  ["nothing", {}, unsupported],
  ["no object", "text", unsupported],
  [
    "an index",
    {
      manifests: [
        { digest: "sha256:a", size: 1, platform: { os: "linux", architecture: "amd64" } },
        { digest: "sha256:a", size: 1, platform: { os: "linux", architecture: "arm64" } },
        { digest: "sha256:b", size: 1, platform: { os: "unknown", architecture: "unknown" } },
      ],
    },
    { kind: "index", digests: ["sha256:a"] },
  ],
  ["an empty index", { manifests: [] }, unsupported],
  [
    "an index of 33 images",
    { manifests: Array.from({ length: 33 }, (_, n) => ({ digest: `sha256:${n}`, size: 1 })) },
    unsupported,
  ],
])("what is scanned of %s", (_what, manifest, expected) => {
  expect(findScanTarget(JSON.stringify(manifest))).toEqual(expected);
});

const urls = ["http://10.0.0.1/"];
const text = (value: unknown) => JSON.stringify(value);

// Each is read by Go as a manifest whose layer has URLs, or another size.
test.each([
  [
    "a layer with URLs under a name with a long s",
    text({ config, layers: [{ ...layer, "url\u017f": urls }] }),
  ],
  [
    "layers under a name with a long s",
    text({ config, layers: [layer], "layer\u017f": [{ ...layer, urls }] }),
  ],
  ["a size under two names that differ in case", text({ config, layers: [{ ...layer, SIZE: 1e18 }] })],
  [
    "layers twice, of which the first has URLs",
    `{"config":${text(config)},"layers":${text([{ ...layer, urls }])},"layers":${text([layer])}}`,
  ],
  ["a name twice in a layer", `{"config":${text(config)},"layers":[{"urls":${text(urls)},"urls":null}]}`],
  ["no JSON", "{"],
])("nothing is scanned of a manifest with %s", (_what, manifest) => {
  expect(findScanTarget(manifest)).toEqual(unsupported);
});

test("an image with annotations in any language is scanned", () => {
  const annotations = { größe: "groß", "org.opencontainers.image.title": "url\u017f" };
  expect(findScanTarget(text({ ...image, annotations }))).toEqual({ kind: "image" });
});
