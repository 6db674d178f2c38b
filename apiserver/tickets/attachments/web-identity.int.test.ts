import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createLocalJWKSet, type JWTVerifyGetKey, jwtVerify } from "jose";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { kubectl, waitForObjectStore } from "../../../e2e/platform/stack/testing.ts";
import { createId } from "../../../shared/program/id.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { makeOrganization, type Person, startTestIssuer, type TestIssuer } from "../../testing/issuer.ts";
import { createTicketRequests } from "../testing.ts";
import { describeFile, openDesk, testStorage } from "./testing.ts";

const AUDIENCE = "sts.example.com";
const ROLE = "arn:aws:iam::1:role/marina";
const namespace = `web-identity-${createId()}`;

let dir: string;
let tokenFile: string;
let keys: JWTVerifyGetKey;
let clusterIssuer: string;
let service: Server;
let issuer: TestIssuer;
let staff: Person;
/** When the credentials end that the security token service gives. */
let lifetimeMs = 0;
/** Subjects of the tokens that it took, the oldest first. */
let subjects: string[] = [];
const apps: TestApp[] = [];

beforeAll(async () => {
  await waitForObjectStore();
  dir = mkdtempSync(join(tmpdir(), "marina-web-identity-"));
  tokenFile = join(dir, "token");
  await kubectl(["create", "namespace", namespace]);
  for (const name of ["first", "second"]) await kubectl(["create", "serviceaccount", name, "-n", namespace]);
  const read = async (path: string) => JSON.parse((await kubectl(["get", "--raw", path])).stdout);
  clusterIssuer = (await read("/.well-known/openid-configuration")).issuer;
  keys = createLocalJWKSet(await read("/openid/v1/jwks"));
  service = await startTokenService();
  issuer = await startTestIssuer();
  staff = await issuer.createStaff();
});
beforeEach(() => {
  lifetimeMs = 3_600_000;
  subjects = [];
});
afterAll(async () => {
  for (const app of apps) await app.close();
  issuer.close();
  service.close();
  await kubectl(["delete", "namespace", namespace, "--wait=false"]);
  rmSync(dir, { recursive: true });
});

/**
 * AssumeRoleWithWebIdentity as AWS documents it: it gives the keys of the stack's store for a token that the cluster
 * has signed for it, and nothing for another one. Without a session token, for the stack's store refuses each.
 */
async function startTokenService(): Promise<Server> {
  const { accessKeyId, secretAccessKey } = await waitForObjectStore();
  const give = async (form: URLSearchParams): Promise<string> => {
    if (form.get("Action") !== "AssumeRoleWithWebIdentity" || form.get("RoleArn") !== ROLE)
      throw new Error("not this role");
    const token = form.get("WebIdentityToken") ?? "";
    const { payload } = await jwtVerify(token, keys, { issuer: clusterIssuer, audience: AUDIENCE });
    subjects.push(String(payload.sub));
    const endsAt = new Date(Date.now() + lifetimeMs).toISOString();
    return `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
      <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${accessKeyId}</AccessKeyId>
      <SecretAccessKey>${secretAccessKey}</SecretAccessKey><Expiration>${endsAt}</Expiration>
      </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
  };
  const refusal = "<ErrorResponse><Error><Code>InvalidIdentityToken</Code></Error></ErrorResponse>";
  const server = createServer((request, response) => {
    text(request)
      .then((body) => give(new URLSearchParams(body)))
      .then(
        (given) => response.end(given),
        () => response.writeHead(400).end(refusal),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** Writes a token of a ServiceAccount into the file, as the kubelet does for a projected volume. */
async function writeToken(serviceAccount: string, audience = AUDIENCE): Promise<void> {
  const options = ["-n", namespace, `--audience=${audience}`, "--duration=10m"];
  const { stdout } = await kubectl(["create", "token", serviceAccount, ...options]);
  writeFileSync(tokenFile, stdout);
}

/** The API with a store whose keys are those of a role, and the attachments of a new ticket. */
async function openWithRole() {
  const stsEndpoint = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const attachmentStorage = testStorage({ credentials: { tokenFile, roleArn: ROLE, stsEndpoint } });
  const api = await startTestApp({ issuers: [issuer.config], attachmentStorage });
  apps.push(api);
  const org = await makeOrganization(api, issuer);
  const ticketId = await createTicketRequests(api, staff).open(org);
  return { api, desk: openDesk(api, ticketId, org.owner, org) };
}

const subjectOf = (name: string) => `system:serviceaccount:${namespace}:${name}`;

test("an attachment goes through the store with the keys of a role, taken once by the token of a ServiceAccount", async () => {
  await writeToken("first");
  const { desk } = await openWithRole();
  const bytes = randomBytes(1000);
  const id = await desk.attach(bytes);
  await desk.write({ body: "See this.", attachment_ids: [id] });
  const { headers } = await desk.send("GET", `/${id}`);
  const file = await fetch(headers.get("location") ?? "");
  expect(Buffer.from(await file.arrayBuffer())).toEqual(bytes);
  expect(subjects).toEqual([subjectOf("first")]);
});

test("the role is taken anew before its keys end, by the token that the file has by then", async () => {
  await writeToken("first");
  lifetimeMs = 1000;
  const { desk } = await openWithRole();
  await desk.attach(randomBytes(10));
  await writeToken("second");
  await desk.attach(randomBytes(10));
  expect(subjects).toContain(subjectOf("first"));
  expect(subjects.at(-1)).toBe(subjectOf("second"));
});

test("a token for another audience gives no keys: 503, and the metric says why", async () => {
  await writeToken("first", "elsewhere.example.com");
  const { api, desk } = await openWithRole();
  const { status, body } = await desk.send("POST", "", describeFile(randomBytes(10)));
  expect([status, body.error.code]).toEqual([503, "attachments_unavailable"]);
  expect(await api.deps.metrics.metrics()).toContain(
    'marina_apiserver_attachment_store_failures_total{reason="no_credentials"} 1',
  );
  expect(subjects).toEqual([]);
});
