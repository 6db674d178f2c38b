import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { ROBOT, startTestHarbor, type TestHarbor } from "./backend/testing-harbor.ts";

let harbor: TestHarbor;
let api: TestApp;

beforeAll(async () => {
  harbor = await startTestHarbor();
  const limits = { sizeGiB: undefined, tags: undefined };
  const { url } = harbor;
  api = await startTestApp({
    registry: { kind: "harbor", url, host: "harbor.example.com", limits, ...ROBOT },
  });
});
afterAll(async () => {
  await api.close();
  await harbor.close();
});

const IMAGE_TYPE = "application/vnd.oci.image.manifest.v1+json";

test("with Harbor a tenant pushes with a token of the service, and reads what Harbor's scanner found", async () => {
  const orgId = await api.createOrganization();
  const repository = `org-${orgId}/team/web`;
  const created = await api.request("POST", `/api/v1/organizations/${orgId}/api-tokens`, {
    body: { name: "ci", role: "member", scopes: ["registry:read", "registry:write"] },
  });
  const password = Buffer.from(`ci:${created.body.token}`).toString("base64");
  const issued = await api.request("GET", `/registry/token?scope=repository:${repository}:pull,push`, {
    as: null,
    headers: { authorization: `Basic ${password}` },
  });
  expect([issued.status, issued.body.expires_in]).toEqual([200, 300]);
  const pushed = await fetch(`${harbor.url}/v2/${repository}/manifests/1`, {
    method: "PUT",
    headers: { authorization: `Bearer ${issued.body.token}`, "content-type": IMAGE_TYPE },
    body: JSON.stringify({ schemaVersion: 2, mediaType: IMAGE_TYPE, layers: [] }),
  });
  expect(pushed.status).toBe(201);

  const repositories = `/api/v1/organizations/${orgId}/registry/repositories`;
  const image = `harbor.example.com/${repository}`;
  expect((await api.request("GET", repositories)).body.items).toEqual([{ name: "team/web", image }]);
  const scan = `${repositories}/team%2Fweb/tags/1/scan`;
  expect((await api.request("GET", scan)).body.Status).toBe("NotScanned");
  expect(await api.request("POST", scan)).toMatchObject({ status: 202, body: { Status: "Pending" } });
  const [digest = ""] = harbor.scans.keys();
  const found = { id: "CVE-2024-1", package: "zlib", version: "1", severity: "Negligible" };
  harbor.scans.set(digest, { status: "Success", vulnerabilities: [found] });
  const { body, headers } = await api.request("GET", scan);
  expect(body).toMatchObject({
    Status: "Success",
    ScannedAt: "2026-05-01T12:00:00.000Z",
    Summary: { Critical: 0, High: 0, Medium: 0, Low: 1, Unknown: 0 },
    Vulnerabilities: [{ ID: "CVE-2024-1", Package: "zlib", Severity: "Low" }],
  });
  const known = { headers: { "if-none-match": headers.get("etag") ?? "" } };
  expect((await api.request("GET", scan, known)).status).toBe(304);
  expect((await api.request("GET", "/registry/jwks.json", { as: null })).status).toBe(404);
});
