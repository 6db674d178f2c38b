import { z } from "zod";
import { parseJson } from "../../http/contract/json-text.ts";
import { ApiError } from "../../http/errors.ts";

/** What of an image is scanned: its own layers, or those of the images that it lists. */
export type ScanTarget =
  | { kind: "image" }
  | { kind: "index"; digests: string[] }
  | { kind: "unsupported"; reason: string };

/** An image of more layers than any builder makes (buildkit stops at 127) is not unpacked. */
const MAX_LAYERS = 500;
/** Compressed. The temporary folder of a scan holds one image unpacked. */
const MAX_IMAGE_BYTES = 20 * 1024 ** 3;
/** Official images come for about ten platforms. */
const MAX_IMAGES = 32;

const CONFIG_TYPES = new Set([
  "application/vnd.oci.image.config.v1+json",
  "application/vnd.docker.container.image.v1+json",
]);

const descriptor = z.object({
  mediaType: z.string().default(""),
  digest: z.string(),
  size: z.number().min(0),
});

const imageManifest = z.object({
  config: descriptor,
  layers: z.array(descriptor),
  artifactType: z.string().optional(),
  subject: z.unknown().optional(),
});

const indexManifest = z.object({
  manifests: z.array(
    descriptor.extend({
      artifactType: z.string().optional(),
      platform: z.object({ os: z.string().default(""), architecture: z.string().default("") }).optional(),
    }),
  ),
});

/**
 * What to scan of the text of a manifest (OCI image specification 1.1, or Docker schema 2). Signatures, attestations and other
 * attached artifacts are no images, nor is one that no builder makes, or that the scanner may read otherwise than we do.
 */
export function findScanTarget(text: string): ScanTarget {
  const manifest = parseManifest(text);
  if (manifest === undefined || hasAmbiguousNames(manifest))
    return { kind: "unsupported", reason: "the fields of the manifest are ambiguous, or too many" };
  if (namesUrls(manifest)) return { kind: "unsupported", reason: "the manifest names URLs for its contents" };
  const index = indexManifest.safeParse(manifest);
  if (index.success) return toIndexTarget(index.data.manifests);
  const image = imageManifest.safeParse(manifest);
  if (!image.success) return { kind: "unsupported", reason: "the manifest is neither an image nor an index" };
  const { config, layers, artifactType, subject } = image.data;
  if (artifactType !== undefined || subject !== undefined || !CONFIG_TYPES.has(config.mediaType))
    return { kind: "unsupported", reason: "an attached artifact is not an image" };
  if (layers.length > MAX_LAYERS)
    return { kind: "unsupported", reason: `the image has more than ${MAX_LAYERS} layers` };
  if (layers.reduce((sum, { size }) => sum + size, 0) > MAX_IMAGE_BYTES)
    return { kind: "unsupported", reason: "the image is larger than 20 GiB" };
  return { kind: "image" };
}

/**
 * Whether any descriptor has `urls`, whatever its media type: a scanner would fetch them (OCI image specification 1.1,
 * descriptor.md), and they may be addresses inside the platform.
 */
function namesUrls(manifest: unknown): boolean {
  if (typeof manifest !== "object" || manifest === null) return false;
  const descriptors = Object.entries(manifest)
    .filter(([key]) => key.toLowerCase() !== "annotations")
    .flatMap(([, value]: [string, unknown]) => value)
    .filter((value) => typeof value === "object" && value !== null);
  return descriptors.some((one) =>
    Object.entries(one).some(([key, urls]) => key.toLowerCase() === "urls" && !isEmpty(urls)),
  );
}

function isEmpty(urls: unknown): boolean {
  return urls === null || (Array.isArray(urls) && urls.length === 0);
}

/** Undefined for a text with a name twice in one object: Go, in which the scanner is written, joins what stands under both. */
function parseManifest(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/**
 * Go reads names in any case, and by Unicode's folding: of `layers` and `Layers` it takes the last, and "url\u017f" is `urls`.
 * Those of annotations are data.
 */
function hasAmbiguousNames(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasAmbiguousNames);
  const names = Object.keys(value);
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length) return true;
  return Object.entries(value).some(
    ([name, inner]) => !isASCII(name) || (name.toLowerCase() !== "annotations" && hasAmbiguousNames(inner)),
  );
}

function isASCII(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

function toIndexTarget(manifests: z.output<typeof indexManifest>["manifests"]): ScanTarget {
  // Builders attach attestations for the platform unknown/unknown.
  const images = manifests.filter(
    ({ artifactType, platform }) => artifactType === undefined && platform?.os !== "unknown",
  );
  if (images.length === 0) return { kind: "unsupported", reason: "the index lists no image" };
  if (images.length > MAX_IMAGES)
    return { kind: "unsupported", reason: `the index lists more than ${MAX_IMAGES} images` };
  return { kind: "index", digests: [...new Set(images.map(({ digest }) => digest))] };
}
