import { z } from "zod";
import type { RegistryAccess } from "../tokens/sign.ts";
import { BackendError, type NamesRequest, type RegistryBackend } from "./backend.ts";
import type { BackendRequest, BackendResponse, SendToBackend } from "./http.ts";

const MANIFEST_TYPES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** Names of one request; the limit of registries. */
const MAX_NAMES = 1000;

const tagsSchema = z.object({ tags: z.array(z.string()).nullable() });

/** How to speak to one registry. */
export interface OciConnection {
  url: string;
  send: SendToBackend;
  /** The Authorization header for a request that needs this right. */
  authorize: (access: RegistryAccess) => Promise<string>;
}

/** Sends a request that needs a right. Throws BackendError when the registry refuses or fails. */
export type CallOci = (
  method: BackendRequest["method"],
  path: string,
  access: RegistryAccess,
) => Promise<BackendResponse>;

type OciMethods = Pick<
  RegistryBackend,
  "listTags" | "findDigest" | "findManifest" | "findBlobSize" | "deleteManifest"
>;

/** Speaks to a registry by the OCI distribution specification 1.1. */
export function createCallOci({ url, send, authorize }: OciConnection): CallOci {
  return async (method, path, access) => {
    const headers = { authorization: await authorize(access), accept: MANIFEST_TYPES };
    const response = await send({ method, url: `${url}${path}`, headers });
    requireAvailable(response);
    return response;
  };
}

/** What every registry of that specification does the same way. */
export function createOciMethods(call: CallOci): OciMethods {
  return {
    async listTags(repository, page) {
      const response = await call("GET", `/v2/${repository}/tags/list?${toQuery(page)}`, toPull(repository));
      if (response.status === 404) return [];
      requireStatus(response, 200);
      return parseResponse(tagsSchema, response).tags ?? [];
    },
    async findDigest(repository, tag) {
      const response = await call("HEAD", manifestPath(repository, tag), toPull(repository));
      if (response.status === 404) return undefined;
      requireStatus(response, 200);
      return requireDigest(response);
    },
    async findManifest(repository, reference) {
      const response = await call("GET", manifestPath(repository, reference), toPull(repository));
      if (response.status === 404) return undefined;
      requireStatus(response, 200);
      return {
        digest: requireDigest(response),
        mediaType: String(response.headers["content-type"] ?? ""),
        sizeBytes: Buffer.byteLength(response.text),
        text: response.text,
        content: parseResponse(z.unknown(), response),
      };
    },
    async findBlobSize(repository, digest) {
      const path = `/v2/${repository}/blobs/${encodeURIComponent(digest)}`;
      const response = await call("HEAD", path, toPull(repository));
      // A digest that can be none is 400.
      if (response.status === 404 || response.status === 400) return undefined;
      requireStatus(response, 200);
      return requireLength(response);
    },
    deleteManifest: (repository, digest) => deleteReference(call, repository, digest),
  };
}

/** Deletes a manifest by its digest, or by a tag where the registry can; false when it is not there. */
export async function deleteReference(
  call: CallOci,
  repository: string,
  reference: string,
): Promise<boolean> {
  const access: RegistryAccess = { type: "repository", name: repository, actions: ["pull", "delete"] };
  const response = await call("DELETE", manifestPath(repository, reference), access);
  if (response.status === 404) return false;
  requireStatus(response, 202);
  return true;
}

/** The right to pull from a repository. */
export function toPull(repository: string): RegistryAccess {
  return { type: "repository", name: repository, actions: ["pull"] };
}

/** The query of a list of names. */
export function toQuery({ after, limit }: NamesRequest): string {
  const query = new URLSearchParams({ n: String(Math.min(limit, MAX_NAMES)) });
  if (after !== undefined) query.set("last", after);
  return query.toString();
}

/** Throws BackendError for a response of a registry that refuses the API server or has a fault. */
export function requireAvailable({ status }: BackendResponse): void {
  if (status === 401 || status === 403)
    throw new BackendError("refused", "the registry refuses the API server");
  if (status >= 500 || status === 429)
    throw new BackendError("failed", `the registry responds with ${status}`);
}

/** Throws BackendError for another status. */
export function requireStatus({ status }: BackendResponse, expected: number): void {
  if (status !== expected) throw new BackendError("failed", `the registry responds with ${status}`);
}

/** The JSON of a response. Throws BackendError when it is something else. */
export function parseResponse<T>(schema: z.ZodType<T>, { text }: BackendResponse): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new BackendError("failed", "the registry responds with something else than it should", {
      cause: error,
    });
  }
}

function manifestPath(repository: string, reference: string): string {
  return `/v2/${repository}/manifests/${encodeURIComponent(reference)}`;
}

function requireDigest({ headers }: BackendResponse): string {
  const digest = String(headers["docker-content-digest"] ?? "");
  if (!/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new BackendError("failed", "the registry names no digest in its response");
  return digest;
}

function requireLength({ headers }: BackendResponse): number {
  const length = String(headers["content-length"] ?? "");
  if (!/^\d{1,15}$/.test(length))
    throw new BackendError("failed", "the registry names no length in its response");
  return Number(length);
}

interface StoredBlob {
  digest: string;
  size: number;
}

const descriptor = z.object({ digest: z.string(), size: z.int().min(0) });
const contents = z.object({
  config: descriptor.optional().catch(undefined),
  layers: z.array(descriptor).optional().catch(undefined),
  manifests: z.array(descriptor).optional().catch(undefined),
});

/** What a manifest refers to: the blobs of an image, the manifests of an index. */
export function listContents(manifest: unknown): { blobs: StoredBlob[]; manifests: StoredBlob[] } {
  const parsed = contents.safeParse(manifest);
  if (!parsed.success) return { blobs: [], manifests: [] };
  const { config, layers = [], manifests = [] } = parsed.data;
  return { blobs: [...(config === undefined ? [] : [config]), ...layers], manifests };
}
