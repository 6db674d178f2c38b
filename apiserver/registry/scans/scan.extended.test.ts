import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ensureGrype, writeVulnerabilityDatabase } from "../../../e2e/platform/stack/registry.ts";
import { waitForRegistry } from "../../../e2e/platform/stack/testing.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { startImageScanner } from "../index.ts";
import {
  listCriticalAudits,
  pushBlob,
  pushLayer,
  pushManifest,
  pushTestImage,
  pushTestIndex,
  testRegistry,
} from "../testing.ts";
import { registryScans } from "./table.ts";

const TIMEOUT_MS = 600_000;
const LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar";

let api: TestApp;
let orgId: string;
let databaseDir: string;

const stop = new AbortController();
let stopped: Promise<void>;

beforeAll(async () => {
  await waitForRegistry();
  databaseDir = await mkdtemp(join(tmpdir(), "marina-vulnerabilities-"));
  const scanner = {
    command: await ensureGrype(),
    databaseDir,
    databaseUrl: undefined,
    caDir: undefined,
    socket: undefined,
    concurrency: 2,
    timeoutSeconds: 300,
    memoryMiB: 2048,
    diskMiB: 1024,
  };
  await writeVulnerabilityDatabase(databaseDir, [
    {
      id: "CVE-2024-0001",
      severity: "critical",
      package: "openssl",
      fixVersion: "3.0.11-1",
      description: "It is bad.",
      links: ["https://example.com/CVE-2024-0001"],
    },
    { id: "CVE-2024-0002", severity: "negligible", package: "openssl" },
    { id: "CVE-2024-0003", severity: "high", package: "openssl", fixVersion: "3.0.8-1" },
    { id: "CVE-2024-0004", severity: "medium", package: "zlib" },
  ]);
  api = await startTestApp({ registry: { scanner } });
  orgId = await api.createOrganization();
  stopped = startImageScanner(api.deps, stop.signal).stopped;
});
afterAll(async () => {
  stop.abort();
  await stopped;
  await api.close();
  await rm(databaseDir, { recursive: true, force: true });
});

const registry = () => testRegistry(api);

const pathOf = (repository: string, tag: string) =>
  `/api/v1/organizations/${orgId}/registry/repositories/${encodeURIComponent(repository)}/tags/${tag}/scan`;

async function scan(repository: string, tag: string) {
  const requested = await api.request("POST", pathOf(repository, tag));
  expect(requested).toMatchObject({ status: 202 });
  const read = () => api.request("GET", pathOf(repository, tag));
  await expect
    .poll(async () => (await read()).body.Status, { timeout: TIMEOUT_MS })
    .not.toMatch(/^(Pending|Running)$/);
  return read();
}

async function findRow(repository: string) {
  const [row] = await api.deps.db
    .select()
    .from(registryScans)
    .where(and(eq(registryScans.orgId, orgId), eq(registryScans.repository, repository)));
  return row;
}

const idsOf = (body: { Vulnerabilities: { ID: string }[] }) => body.Vulnerabilities.map(({ ID }) => ID);

describe("a scan", { timeout: TIMEOUT_MS }, () => {
  test("lists the vulnerabilities that are in the image, the worst first, and none that is mended", async () => {
    const place = { orgId, repository: "team/web", tag: "1" };
    await pushTestImage(registry(), place, { openssl: "3.0.9-1" });
    expect((await api.request("GET", pathOf("team/web", "1"))).body).toEqual({
      Status: "NotScanned",
      Summary: { Critical: 0, High: 0, Medium: 0, Low: 0, Unknown: 0 },
      Vulnerabilities: [],
    });
    const { body } = await scan("team/web", "1");
    expect(body).toEqual({
      Status: "Success",
      ScannedAt: expect.any(String),
      Summary: { Critical: 1, High: 0, Medium: 0, Low: 1, Unknown: 0 },
      Vulnerabilities: [
        {
          ID: "CVE-2024-0001",
          Package: "openssl",
          Version: "3.0.9-1",
          FixVersion: "3.0.11-1",
          Severity: "Critical",
          Description: "It is bad.",
          Links: ["https://example.com/CVE-2024-0001"],
        },
        {
          ID: "CVE-2024-0002",
          Package: "openssl",
          Version: "3.0.9-1",
          FixVersion: "",
          Severity: "Low",
          Description: "",
          Links: [],
        },
      ],
    });
  });

  test("that finds what is critical leaves one row in the audit log", async () => {
    const place = { orgId, repository: "audited", tag: "1" };
    const { digest } = await pushTestImage(registry(), place, { openssl: "3.0.9-4" });
    await scan("audited", "1");
    const items = await listCriticalAudits(api, orgId);
    expect(items.filter(({ target }) => target.id === digest)).toEqual([
      expect.objectContaining({
        actor: { kind: "system", name: "scanner", id: null, email: null },
        target: { kind: "image", id: digest },
        before: null,
        after: { repository: "audited", critical: 1 },
        result: "done",
      }),
    ]);
  });

  test("belongs to the digest: a second tag of it has the result, and a tag that is moved has none", async () => {
    const place = { orgId, repository: "moved", tag: "latest" };
    await pushTestImage(registry(), place, { openssl: "3.0.9-1" });
    const { body } = await scan("moved", "latest");
    await pushTestImage(registry(), { ...place, tag: "same" }, { openssl: "3.0.9-1" });
    expect((await api.request("GET", pathOf("moved", "same"))).body).toEqual(body);
    await pushTestImage(registry(), place, { openssl: "3.0.12-1" });
    expect((await api.request("GET", pathOf("moved", "latest"))).body.Status).toBe("NotScanned");
    expect(idsOf((await scan("moved", "latest")).body)).toEqual(["CVE-2024-0002"]);
  });

  test("of an index has the vulnerabilities of all its images, each once", async () => {
    const place = { orgId, repository: "index", tag: "amd64" };
    const first = await pushTestImage(registry(), place, { openssl: "3.0.9-1" });
    const second = await pushTestImage(
      registry(),
      { ...place, tag: "arm64" },
      { openssl: "3.0.9-1", zlib: "1.2-1" },
    );
    await pushTestIndex(registry(), { ...place, tag: "all" }, [first, second]);
    const { body } = await scan("index", "all");
    expect(idsOf(body)).toEqual(["CVE-2024-0001", "CVE-2024-0004", "CVE-2024-0002"]);
    expect(body.Summary).toEqual({ Critical: 1, High: 0, Medium: 1, Low: 1, Unknown: 0 });
  });

  test("of an artifact that is no image is Unsupported", async () => {
    const place = { orgId, repository: "signatures", tag: "sig" };
    const blob = await pushBlob(registry(), place, Buffer.from("{}"));
    await pushManifest(registry(), place, {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      artifactType: "application/vnd.example.signature",
      config: { ...blob, mediaType: "application/vnd.oci.empty.v1+json" },
      layers: [{ ...blob, mediaType: "application/octet-stream" }],
    });
    expect((await scan("signatures", "sig")).body.Status).toBe("Unsupported");
  });

  test("of layers that are no archive is an Error after one retry, and keeps no other image waiting", async () => {
    const place = { orgId, repository: "broken", tag: "1" };
    await pushLayer(registry(), place, Buffer.alloc(2048, "x"), LAYER_TYPE);
    const [broken, other] = await Promise.all([
      scan("broken", "1"),
      pushTestImage(registry(), { orgId, repository: "other", tag: "1" }, { zlib: "1" }).then(() =>
        scan("other", "1"),
      ),
    ]);
    expect(broken.body.Status).toBe("Error");
    expect(idsOf(other.body)).toEqual(["CVE-2024-0004"]);
  });

  // The registry itself refuses a URL of the types that the OCI specification has for it.
  test.each([
    "application/vnd.docker.image.rootfs.diff.tar.zstd",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
  ])("of a layer %s at a URL is Unsupported, and nothing is read from there", async (mediaType) => {
    let requests = 0;
    const inside = createServer((_request, response) => {
      requests += 1;
      response.end();
    });
    await new Promise<void>((resolve) => inside.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void inside.close());
    const { port } = inside.address() as AddressInfo;
    const place = { orgId, repository: `urls-${port}`, tag: "1" };
    await pushLayer(registry(), place, Buffer.alloc(512), mediaType, [`http://127.0.0.1:${port}/layer`]);
    expect((await scan(place.repository, "1")).body.Status).toBe("Unsupported");
    expect(requests).toBe(0);
  });

  test("of a manifest of almost 4 MiB, with 25,000 layers, is Unsupported", async () => {
    const place = { orgId, repository: "layers", tag: "1" };
    const layer = await pushBlob(registry(), place, Buffer.alloc(512));
    const config = await pushBlob(registry(), place, Buffer.from("{}"));
    const layers = Array.from({ length: 25_000 }, () => ({ ...layer, mediaType: LAYER_TYPE }));
    await pushManifest(registry(), place, {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: { ...config, mediaType: "application/vnd.oci.image.config.v1+json" },
      layers,
    });
    const tags = await api.request("GET", pathOf("layers", "1").replace(/\/1\/scan$/, ""));
    expect(tags).toMatchObject({ status: 200, body: { items: [{ name: "1" }] } });
    expect((await scan("layers", "1")).body.Status).toBe("Unsupported");
  });

  test("of an image whose tag moves meanwhile stays with the image", async () => {
    const place = { orgId, repository: "moving", tag: "latest" };
    await pushTestImage(registry(), { ...place, tag: "first" }, { openssl: "3.0.9-2" });
    await pushTestImage(registry(), place, { openssl: "3.0.9-2" });
    expect((await api.request("POST", pathOf("moving", "latest"))).status).toBe(202);
    await pushTestImage(registry(), place, { openssl: "3.0.13-1" });
    await expect
      .poll(async () => (await api.request("GET", pathOf("moving", "first"))).body.Status, {
        timeout: TIMEOUT_MS,
      })
      .toBe("Success");
    expect((await api.request("GET", pathOf("moving", "latest"))).body.Status).toBe("NotScanned");
  });

  test("of an image that is deleted meanwhile is forgotten", async () => {
    await pushTestImage(registry(), { orgId, repository: "deleted", tag: "1" }, { openssl: "3.0.9-3" });
    expect((await api.request("POST", pathOf("deleted", "1"))).status).toBe(202);
    const repository = `/api/v1/organizations/${orgId}/registry/repositories/deleted`;
    expect((await api.request("DELETE", repository)).status).toBe(204);
    const isForgotten = async () => {
      const row = await findRow("deleted");
      return row === undefined || row.state === "success";
    };
    await expect.poll(isForgotten, { timeout: TIMEOUT_MS }).toBe(true);
    expect((await api.request("GET", pathOf("deleted", "1"))).status).toBe(404);
  });

  test("is made again when the vulnerability database is another one, and its ETag changes", async () => {
    const place = { orgId, repository: "again", tag: "1" };
    await pushTestImage(registry(), place, { curl: "7.88-1" });
    const first = await scan("again", "1");
    expect(idsOf(first.body)).toEqual([]);
    const headers = { "if-none-match": first.headers.get("etag") ?? "" };
    expect((await api.request("GET", pathOf("again", "1"), { headers })).status).toBe(304);
    await writeVulnerabilityDatabase(databaseDir, [{ id: "CVE-2026-1", severity: "high", package: "curl" }]);
    const readIds = async () =>
      idsOf((await api.request("GET", pathOf("again", "1"), { headers })).body ?? first.body);
    await expect.poll(readIds, { timeout: TIMEOUT_MS }).toEqual(["CVE-2026-1"]);
  });
});
