import { createHash, randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import type { OwnScans, RegistryBackend } from "./backend.ts";

/** A registry under test, and the scans of an organization's images. */
export interface RegistryUnderTest {
  url: string;
  backend: RegistryBackend;
  scansOf: (orgId: string) => Pick<OwnScans, "find" | "request">;
  createOrganization: () => Promise<string>;
}

const IMAGE_TYPE = "application/vnd.oci.image.manifest.v1+json";
const ALL = { after: undefined, limit: 100 };

/** What every adapter of a registry does, in tests of the calling file. */
export function testRegistryContract(open: () => Promise<RegistryUnderTest>): void {
  let registry: RegistryUnderTest;
  let backend: RegistryBackend;
  beforeAll(async () => {
    registry = await open();
    ({ backend } = registry);
  });

  const issue = async (repository: string, ...actions: string[]) => {
    const access = actions.length === 0 ? [] : [{ type: "repository" as const, name: repository, actions }];
    const { token } = await backend.issueToken({ subject: "contract", access, now: new Date() });
    return { authorization: `Bearer ${token}` };
  };
  const pushBlob = async (repository: string, content: string) => {
    const headers = await issue(repository, "pull", "push");
    const upload = `${registry.url}/v2/${repository}/blobs/uploads/`;
    const started = await fetch(upload, { method: "POST", headers });
    const location = new URL(started.headers.get("location") ?? "", registry.url);
    location.searchParams.set("digest", digestOf(content));
    const body = Buffer.from(content);
    const ended = await fetch(location, { method: "PUT", headers, body });
    expect(ended.status).toBe(201);
    return { digest: digestOf(content), size: body.length };
  };
  const push = async (repository: string, tag: string, layer = tag) => {
    const config = {
      ...(await pushBlob(repository, "{}")),
      mediaType: "application/vnd.oci.image.config.v1+json",
    };
    const blob = await pushBlob(repository, layer);
    const layers = [{ ...blob, mediaType: "application/vnd.oci.image.layer.v1.tar" }];
    const manifest = JSON.stringify({ schemaVersion: 2, mediaType: IMAGE_TYPE, config, layers });
    const response = await fetch(`${registry.url}/v2/${repository}/manifests/${tag}`, {
      method: "PUT",
      headers: { ...(await issue(repository, "pull", "push")), "content-type": IMAGE_TYPE },
      body: manifest,
    });
    expect(response.status).toBe(201);
    return { digest: digestOf(manifest), bytes: Buffer.byteLength(manifest), blob };
  };
  const createPrefix = async () => `org-${await registry.createOrganization()}/`;

  test("a token does what was given, in its repository alone", async () => {
    const prefix = await createPrefix();
    await push(`${prefix}web`, "1");
    const read = async (repository: string, headers: Record<string, string>) =>
      (
        await fetch(`${registry.url}/v2/${prefix}${repository}/manifests/1`, {
          headers: { ...headers, accept: IMAGE_TYPE },
        })
      ).status;
    expect(await read("web", await issue(`${prefix}web`, "pull"))).toBe(200);
    expect(await read("web", await issue(`${prefix}other`, "pull"))).toBe(401);
    expect(await read("web", await issue(`${prefix}web`))).toBe(401);
    const upload = `${registry.url}/v2/${prefix}web/blobs/uploads/`;
    const headers = await issue(`${prefix}web`, "pull");
    expect((await fetch(upload, { method: "POST", headers })).status).toBe(401);
  });

  test("repositories are listed by organization, in pages; one without any has none", async () => {
    const [prefix, other, empty] = [await createPrefix(), await createPrefix(), await createPrefix()];
    for (const name of ["web", "api", "team/db"]) await push(`${prefix}${name}`, "1");
    await push(`${other}web`, "1");
    const first = await backend.listRepositories(prefix, { after: undefined, limit: 2 });
    const rest = await backend.listRepositories(prefix, { after: first.at(-1), limit: 2 });
    expect([...first, ...rest]).toEqual(["api", "team/db", "web"].map((name) => `${prefix}${name}`));
    expect(await backend.listRepositories(empty, ALL)).toEqual([]);
    const all = await backend.listRepositories("org-", { after: undefined, limit: 1000 });
    expect(all).toEqual(expect.arrayContaining([`${prefix}web`, `${other}web`]));
  });

  test("tags are listed in pages; a repository that is not there has none", async () => {
    const repository = `${await createPrefix()}web`;
    for (const tag of ["b", "a", "c"]) await push(repository, tag);
    expect(await backend.listTags(repository, { after: undefined, limit: 2 })).toEqual(["a", "b"]);
    expect(await backend.listTags(repository, { after: "b", limit: 2 })).toEqual(["c"]);
    expect(await backend.listTags(`${repository}/none`, ALL)).toEqual([]);
    expect(await backend.listTags(`${await createPrefix()}web`, ALL)).toEqual([]);
  });

  test("manifests are found by tag and by digest, and only those that are there", async () => {
    const repository = `${await createPrefix()}team/web`;
    const { digest, bytes } = await push(repository, "1");
    const manifest = { digest, mediaType: IMAGE_TYPE, sizeBytes: bytes };
    expect(await backend.findDigest(repository, "1")).toBe(digest);
    for (const reference of ["1", digest])
      expect(await backend.findManifest(repository, reference)).toMatchObject(manifest);
    for (const place of [repository, `${repository}/none`, `${await createPrefix()}web`]) {
      expect(await backend.findDigest(place, "2")).toBeUndefined();
      expect(await backend.findManifest(place, digestOf("none"))).toBeUndefined();
    }
  });

  test("blobs have the size that is stored, and only those that are there", async () => {
    const repository = `${await createPrefix()}web`;
    const { blob } = await push(repository, "1", randomUUID().repeat(50));
    expect(await backend.findBlobSize(repository, blob.digest)).toBe(1800);
    expect(await backend.findBlobSize(repository, digestOf("none"))).toBeUndefined();
    expect(await backend.findBlobSize(repository, "sha256:../x")).toBeUndefined();
  });

  test("a tag is deleted alone, a manifest with all its tags, and what is not there not at all", async () => {
    const repository = `${await createPrefix()}team/web`;
    const { digest } = await push(repository, "1", "same");
    await push(repository, "2", "same");
    await push(repository, "3", "same");
    expect(await backend.deleteTag(repository, "1")).toBe(true);
    expect(await backend.listTags(repository, ALL)).toEqual(["2", "3"]);
    expect(await backend.deleteManifest(repository, digest)).toBe(true);
    expect(await backend.listTags(repository, ALL)).toEqual([]);
    expect(await backend.findManifest(repository, digest)).toBeUndefined();
    expect(await backend.deleteManifest(repository, digest)).toBe(false);
    expect(await backend.deleteTag(`${await createPrefix()}web`, "1")).toBe(false);
  });

  test("an image whose scan was not requested has no result; a request is pending until it has one", async () => {
    const orgId = await registry.createOrganization();
    const repository = `org-${orgId}/web`;
    const { digest } = await push(repository, "1");
    const scans = registry.scansOf(orgId);
    expect(await scans.find(repository, digest)).toBeUndefined();
    const pending = { state: "pending", scannedAt: null, summary: null, vulnerabilities: null };
    expect(await scans.request(repository, digest)).toBe("pending");
    expect(await scans.find(repository, digest)).toMatchObject(pending);
    expect(await scans.request(repository, digest)).toBe("pending");
  });
}

function digestOf(content: string): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
