import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { waitForRegistry } from "../../e2e/platform/stack/testing.ts";
import { createId } from "../../shared/program/id.ts";
import type { Deps } from "../deps.ts";
import type { TestApp } from "../testing/app.ts";
import type { DistributionConfig } from "./config.ts";
import { insertCredential } from "./credentials/store.ts";
import { repositoryPrefix } from "./names.ts";
import { createTokenSigner } from "./tokens/sign.ts";

type Registry = Pick<DistributionConfig, "url" | "service" | "signingKey">;

/** Where an image is pushed to. */
export interface ImagePlace {
  orgId: string;
  repository: string;
  tag: string;
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

const IMAGE_TYPE = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE = "application/vnd.oci.image.index.v1+json";

/** Makes tar reproducible: equal files give equal bytes. */
const TAR_OPTIONS = ["--mtime=@0", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"];

/** The registry of the stack, as the application under test knows it. */
export function testRegistry({ deps }: { deps: Pick<Deps, "config"> }): DistributionConfig {
  const { registry } = deps.config;
  if (registry?.kind !== "distribution") throw new Error("no registry is configured");
  return registry;
}

/** Pushes an image to the registry of the stack, when that is there. Returns the path parameters that name it. */
export async function pushAnyImage(api: { deps: Pick<Deps, "config"> }, orgId: string) {
  await waitForRegistry();
  await pushTestImage(testRegistry(api), { orgId, repository: "web", tag: "1" }, { zlib: "1" });
  return { repoName: "web", tag: "1" };
}

/** Writes a credential of a cluster that no password belongs to. Returns its id. */
export async function insertTestCredential(
  { db, now }: Pick<Deps, "db" | "now">,
  orgId: string,
  clusterId: string,
): Promise<string> {
  const id = createId();
  await insertCredential(db, { id, orgId, clusterId, secretHash: "", createdAt: now(), lastUsedAt: null });
  return id;
}

/** The rows of an organization's audit log about images with more that is critical than before. */
export async function listCriticalAudits(
  api: Pick<TestApp, "request">,
  orgId: string,
): Promise<{ target: { id: string }; after: object }[]> {
  const path = `/api/v1/organizations/${orgId}/audit-log?action=image.critical_found`;
  return (await api.request("GET", path)).body.items;
}

/** Pushes an image of Debian 12 with these packages (name and version). Returns its descriptor. */
export async function pushTestImage(
  registry: Registry,
  place: ImagePlace,
  packages: Readonly<Record<string, string>>,
): Promise<Descriptor> {
  const layer = await packFiles({
    "etc/os-release": 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n',
    "var/lib/dpkg/status": Object.entries(packages).map(toDpkgStatus).join("\n"),
  });
  const layerBlob = await pushBlob(registry, place, layer);
  const config = {
    architecture: "amd64",
    os: "linux",
    rootfs: { type: "layers", diff_ids: [layerBlob.digest] },
  };
  const configBlob = await pushBlob(registry, place, Buffer.from(JSON.stringify(config)));
  return pushManifest(registry, place, {
    schemaVersion: 2,
    mediaType: IMAGE_TYPE,
    config: { ...configBlob, mediaType: "application/vnd.oci.image.config.v1+json" },
    layers: [{ ...layerBlob, mediaType: "application/vnd.oci.image.layer.v1.tar" }],
  });
}

/** Pushes an index of images that are in the repository. */
export async function pushTestIndex(
  registry: Registry,
  place: ImagePlace,
  images: readonly Descriptor[],
): Promise<Descriptor> {
  const manifests = images.map((image, n) => ({
    ...image,
    platform: { os: "linux", architecture: `arch${n}` },
  }));
  return pushManifest(registry, place, { schemaVersion: 2, mediaType: INDEX_TYPE, manifests });
}

/** Pushes a manifest unchanged under a tag; the blobs that it names must already be there. */
export async function pushManifest(
  registry: Registry,
  place: ImagePlace,
  manifest: { mediaType: string } & Record<string, unknown>,
): Promise<Descriptor> {
  const content = Buffer.from(JSON.stringify(manifest));
  const response = await send(registry, place, `manifests/${place.tag}`, {
    method: "PUT",
    headers: { "content-type": manifest.mediaType },
    body: new Uint8Array(content),
  });
  if (response.status !== 201) throw new Error(`manifest: ${response.status} ${await response.text()}`);
  return { mediaType: manifest.mediaType, digest: digestOf(content), size: content.length };
}

/** Pushes a blob; returns its digest and size. */
export async function pushBlob(
  registry: Registry,
  place: ImagePlace,
  content: Buffer,
): Promise<{ digest: string; size: number }> {
  const started = await send(registry, place, "blobs/uploads/", { method: "POST" });
  const location = new URL(started.headers.get("location") ?? "", registry.url);
  location.searchParams.set("digest", digestOf(content));
  const response = await fetch(location, {
    method: "PUT",
    headers: { ...(await headersOf(registry, place)), "content-type": "application/octet-stream" },
    body: new Uint8Array(content),
  });
  if (response.status !== 201) throw new Error(`blob: ${response.status} ${await response.text()}`);
  return { digest: digestOf(content), size: content.length };
}

async function send(
  registry: Registry,
  place: ImagePlace,
  path: string,
  {
    headers = {},
    ...init
  }: { method: string; headers?: Record<string, string>; body?: Uint8Array<ArrayBuffer> },
): Promise<Response> {
  const url = `${registry.url}/v2/${repositoryPrefix(place.orgId)}${place.repository}/${path}`;
  return fetch(url, { ...init, headers: { ...(await headersOf(registry, place)), ...headers } });
}

async function headersOf(registry: Registry, { orgId, repository }: ImagePlace) {
  const name = `${repositoryPrefix(orgId)}${repository}`;
  const access = [{ type: "repository" as const, name, actions: ["pull", "push"] }];
  const token = await createTokenSigner(registry)({ subject: "test", access, now: new Date() });
  return { authorization: `Bearer ${token}` };
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

function toDpkgStatus([name, version]: [string, string]): string {
  return [
    `Package: ${name}`,
    "Status: install ok installed",
    "Architecture: amd64",
    "Maintainer: Nobody <nobody@example.com>",
    `Version: ${version}`,
    "Description: none",
    "",
  ].join("\n");
}

async function packFiles(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), "marina-image-"));
  try {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
    }
    const options = { encoding: "buffer" as const };
    const { stdout } = await promisify(execFile)(
      "tar",
      [...TAR_OPTIONS, "-cf", "-", "-C", folder, "."],
      options,
    );
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Pushes an image of one layer, whatever that is. */
export async function pushLayer(
  registry: Registry,
  place: ImagePlace,
  content: Buffer,
  mediaType: string,
  urls?: string[],
): Promise<void> {
  const layer = await pushBlob(registry, place, content);
  const described = { os: "linux", rootfs: { type: "layers", diff_ids: [layer.digest] } };
  const config = await pushBlob(registry, place, Buffer.from(JSON.stringify(described)));
  await pushManifest(registry, place, {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: { ...config, mediaType: "application/vnd.oci.image.config.v1+json" },
    layers: [{ ...layer, mediaType, urls }],
  });
}
