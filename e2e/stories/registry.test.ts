import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { ensureCrane, ensureGrype, writeVulnerabilityDatabase } from "../platform/stack/registry.ts";
import { readStack, waitFor, waitForRegistry } from "../platform/stack/testing.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const run = promisify(execFile);
const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const folder = mkdtempSync(join(tmpdir(), "marina-images-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An archive of a layer of Debian 12 with one package. */
async function packLayer(name: string, version: string): Promise<string> {
  const root = mkdtempSync(join(folder, "layer-"));
  const files = {
    "etc/os-release": 'ID=debian\nVERSION_ID="12"\n',
    "var/lib/dpkg/status": `Package: ${name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: ${version}\nDescription: none\n`,
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const archive = `${root}.tar`;
  await run("tar", ["-cf", archive, "-C", root, "."]);
  return archive;
}

test("a tenant logs in, pushes an image, reads its vulnerabilities, pushes a mended one, which a cluster pulls, and deletes both", async () => {
  const [{ host, scanner }, crane] = await Promise.all([waitForRegistry(), ensureCrane(), ensureGrype()]);
  await writeVulnerabilityDatabase(scanner.databaseDir, [
    { id: "CVE-2024-7777", severity: "critical", package: "zlib1g", fixVersion: "1:1.3-1" },
  ]);
  const createOrganization = async (name: string) =>
    expectStatus(201, await alice.call("createOrganization", { body: { name } })).id;
  const [orgID, otherID] = [await createOrganization("Images"), await createOrganization("Others")];
  const { token } = expectStatus(
    201,
    await alice.call("createApiToken", {
      orgID,
      body: { name: "ci", role: "member", scopes: ["registry:read", "registry:write"] },
    }),
  );
  const env = { ...process.env, DOCKER_CONFIG: join(folder, "docker") };
  const runCrane = (...args: string[]) => run(crane, args, { env });
  const image = (org: string, tag: string) => `${host}/org-${org}/team/web:${tag}`;
  const push = async (tag: string, version: string) =>
    runCrane("append", "-f", await packLayer("zlib1g", version), "-t", image(orgID, tag));
  const place = { orgID, repoName: "team/web" };
  const readScan = async () => expectStatus(200, await alice.call("getTagScan", { ...place, tag: "latest" }));
  const untilScanned = (critical: number) =>
    waitFor(`a scan with ${critical} critical vulnerabilities`, async () => {
      const scan = await readScan();
      return scan.Status === "Success" && scan.Summary.Critical === critical ? scan : undefined;
    });

  await runCrane("auth", "login", host, "-u", "ci", "-p", token);
  await push("latest", "1:1.2.13-1");
  const found = await untilScanned(1);
  expect(found.Vulnerabilities).toMatchObject([
    { ID: "CVE-2024-7777", Package: "zlib1g", Version: "1:1.2.13-1", FixVersion: "1:1.3-1" },
  ]);
  await push("latest", "1:1.3-1");
  expect((await untilScanned(0)).Vulnerabilities).toEqual([]);

  const elsewhere = runCrane("copy", image(orgID, "latest"), image(otherID, "stolen"));
  await expect(elsewhere).rejects.toThrow(/UNAUTHORIZED|DENIED|401 Unauthorized/);
  await expect(runCrane("pull", image(otherID, "any"), join(folder, "any.tar"))).rejects.toThrow(
    /UNAUTHORIZED|DENIED|401 Unauthorized/,
  );

  const cluster = expectStatus(
    202,
    await alice.call("createCluster", { orgID, body: { name: "puller", k8s_version: "1.34" } }),
  );
  const credential = expectStatus(
    201,
    await alice.call("createRegistryCredential", { orgID, body: { cluster_id: cluster.id } }),
  );
  const pullConfig = join(folder, "pull-secret");
  mkdirSync(pullConfig);
  writeFileSync(join(pullConfig, "config.json"), credential.docker_config_json);
  const runAsCluster = (...args: string[]) =>
    run(crane, args, { env: { ...env, DOCKER_CONFIG: pullConfig } });
  await runAsCluster("pull", image(orgID, "latest"), join(folder, "pulled.tar"));
  // A layer that the registry has not: its upload is refused before any body is sent.
  const layer = await packLayer("curl", "7.88.1-10");
  await expect(runAsCluster("append", "-f", layer, "-t", image(orgID, "pushed"))).rejects.toThrow(
    /UNAUTHORIZED|DENIED|401 Unauthorized/,
  );

  expect((await alice.call("deleteTag", { ...place, tag: "latest" })).status).toBe(204);
  expect((await alice.call("getTagScan", { ...place, tag: "latest" })).status).toBe(404);
  await expect(runCrane("digest", image(orgID, "latest"))).rejects.toThrow("MANIFEST_UNKNOWN");
});
