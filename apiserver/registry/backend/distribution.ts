import { z } from "zod";
import type { RegistryConfig } from "../../registry-config.ts";
import { type RegistryAccess, signRegistryToken } from "../tokens/sign.ts";
import { BackendError, type NamesRequest, type RegistryBackend } from "./backend.ts";
import { type BackendRequest, type BackendResponse, createSender } from "./http.ts";

const MANIFEST_TYPES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

const SUBJECT = "marina";
/** Names of one request to the catalogue; the registry's own limit. */
const MAX_NAMES = 1000;

const catalogueSchema = z.object({ repositories: z.array(z.string()).nullable() });
const tagsSchema = z.object({ tags: z.array(z.string()).nullable() });

/** The CNCF registry `distribution` v3, by the OCI distribution specification and its catalogue. */
export function createDistribution(
  config: Pick<RegistryConfig, "url" | "service" | "signingKey">,
  now: () => Date,
): RegistryBackend {
  const send = createSender();

  async function call(
    method: BackendRequest["method"],
    path: string,
    access: RegistryAccess,
  ): Promise<BackendResponse> {
    const token = await signRegistryToken(config, { subject: SUBJECT, access: [access], now: now() });
    const headers = { authorization: `Bearer ${token}`, accept: MANIFEST_TYPES };
    const response = await send({ method, url: `${config.url}${path}`, headers });
    if (response.status === 401 || response.status === 403)
      throw new BackendError("refused", "the registry refuses the tokens of the API server");
    if (response.status >= 500 || response.status === 429)
      throw new BackendError("failed", `the registry responds with ${response.status}`);
    return response;
  }

  const pull = (repository: string): RegistryAccess => ({
    type: "repository",
    name: repository,
    actions: ["pull"],
  });
  const callDelete = async (repository: string, reference: string): Promise<boolean> => {
    const access: RegistryAccess = { type: "repository", name: repository, actions: ["pull", "delete"] };
    const { status } = await call("DELETE", manifestPath(repository, reference), access);
    if (status === 404) return false;
    requireStatus(status, 202);
    return true;
  };

  return {
    async listRepositories(prefix, { after, limit }) {
      const access: RegistryAccess = { type: "registry", name: "catalog", actions: ["*"] };
      const query = toQuery({ after: after ?? prefix, limit });
      const response = await call("GET", `/v2/_catalog?${query}`, access);
      requireStatus(response.status, 200);
      const { repositories } = parse(catalogueSchema, response);
      return (repositories ?? []).filter((name) => name.startsWith(prefix));
    },
    async listTags(repository, page) {
      const response = await call("GET", `/v2/${repository}/tags/list?${toQuery(page)}`, pull(repository));
      if (response.status === 404) return [];
      requireStatus(response.status, 200);
      return parse(tagsSchema, response).tags ?? [];
    },
    async findDigest(repository, tag) {
      const { status, headers } = await call("HEAD", manifestPath(repository, tag), pull(repository));
      if (status === 404) return undefined;
      requireStatus(status, 200);
      return requireDigest(headers);
    },
    async findManifest(repository, reference) {
      const response = await call("GET", manifestPath(repository, reference), pull(repository));
      if (response.status === 404) return undefined;
      requireStatus(response.status, 200);
      return {
        digest: requireDigest(response.headers),
        mediaType: String(response.headers["content-type"] ?? ""),
        sizeBytes: Buffer.byteLength(response.text),
        content: parse(z.unknown(), response),
      };
    },
    async findBlobSize(repository, digest) {
      const path = `/v2/${repository}/blobs/${encodeURIComponent(digest)}`;
      const { status, headers } = await call("HEAD", path, pull(repository));
      // A digest that can be none is 400.
      if (status === 404 || status === 400) return undefined;
      requireStatus(status, 200);
      return requireLength(headers);
    },
    deleteTag: callDelete,
    deleteManifest: callDelete,
    createPullToken: (repository) =>
      signRegistryToken(config, { subject: SUBJECT, access: [pull(repository)], now: now() }),
  };
}

function manifestPath(repository: string, reference: string): string {
  return `/v2/${repository}/manifests/${encodeURIComponent(reference)}`;
}

function toQuery({ after, limit }: NamesRequest): string {
  const query = new URLSearchParams({ n: String(Math.min(limit, MAX_NAMES)) });
  if (after !== undefined) query.set("last", after);
  return query.toString();
}

function requireStatus(status: number, expected: number): void {
  if (status !== expected) throw new BackendError("failed", `the registry responds with ${status}`);
}

function requireDigest(headers: BackendResponse["headers"]): string {
  const digest = String(headers["docker-content-digest"] ?? "");
  if (!/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new BackendError("failed", "the registry names no digest in its response");
  return digest;
}

function requireLength(headers: BackendResponse["headers"]): number {
  const length = String(headers["content-length"] ?? "");
  if (!/^\d{1,15}$/.test(length))
    throw new BackendError("failed", "the registry names no length in its response");
  return Number(length);
}

function parse<T>(schema: z.ZodType<T>, { text }: BackendResponse): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new BackendError("failed", "the registry responds with something else than it should", {
      cause: error,
    });
  }
}
