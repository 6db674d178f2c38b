import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { waitForObjectStore } from "../../../e2e/platform/stack/testing.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { makeOrganization, type Person, startTestIssuer, type TestIssuer } from "../../testing/issuer.ts";
import { createTicketRequests } from "../testing.ts";
import type { AttachmentStorage } from "./config.ts";
import { describeFile, openDesk, testStorage } from "./testing.ts";

let issuer: TestIssuer;
let staff: Person;
let healthy: TestApp;
const replicas: TestApp[] = [];
const servers: Server[] = [];
beforeAll(async () => {
  await waitForObjectStore();
  issuer = await startTestIssuer();
  healthy = await startTestApp({ issuers: [issuer.config], attachmentStorage: testStorage() });
  staff = await issuer.createStaff();
});
afterEach(async () => {
  for (const replica of replicas.splice(0)) await replica.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});
afterAll(async () => {
  await healthy.close();
  issuer.close();
});

/** A server in place of the store. */
async function serve(respond: (status: (code: number) => void) => void): Promise<string> {
  const server = createServer((_request, response) => respond((code) => response.writeHead(code).end()));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Another replica that has this store, or none. */
async function startReplica(attachmentStorage?: AttachmentStorage): Promise<TestApp> {
  const replica = await startTestApp({
    issuers: [issuer.config],
    replicaOf: healthy,
    ...(attachmentStorage === undefined ? {} : { attachmentStorage }),
  });
  replicas.push(replica);
  return replica;
}

const wrongKey = { accessKeyId: "marina", secretAccessKey: "another" };
const OUTAGES: [string, string, () => Promise<AttachmentStorage | undefined>][] = [
  ["is not configured", "unconfigured", async () => undefined],
  ["is down", "unreachable", async () => testStorage({ endpoint: "http://127.0.0.1:9" })],
  ["takes 10 s or more", "timeout", async () => testStorage({ endpoint: await serve(() => undefined) })],
  ["refuses the key", "refused", async () => testStorage({ credentials: wrongKey })],
  ["has no such bucket", "bucket_missing", async () => testStorage({ bucket: "no-such-bucket" })],
  [
    "has a full disk",
    "failed",
    async () => testStorage({ endpoint: await serve((respond) => respond(507)) }),
  ],
];

describe("while the store", () => {
  test.each(OUTAGES)(
    "%s, attachments are 503 and all else of tickets works",
    async (_case, reason, storage) => {
      const org = await makeOrganization(healthy, issuer);
      const ticketId = await createTicketRequests(healthy, staff).open(org);
      const bytes = randomBytes(10);
      const before = openDesk(healthy, ticketId, org.owner, org);
      const [bound, uploaded] = [await before.attach(bytes), await before.upload(bytes)];
      await before.write({ body: "See this.", attachment_ids: [bound] });
      const uploadedByStaff = await openDesk(healthy, ticketId, staff).upload(bytes);

      const replica = await startReplica(await storage());
      const desk = openDesk(replica, ticketId, org.owner, org);
      const provider = openDesk(replica, ticketId, staff);
      const refused = [
        await desk.send("POST", "", describeFile(bytes)),
        await desk.send("POST", `/${uploaded}/complete`),
        await desk.send("GET", `/${bound}`),
        await provider.send("POST", "", describeFile(bytes)),
        await provider.send("POST", `/${uploadedByStaff}/complete`),
        await provider.send("GET", `/${bound}`),
      ];
      for (const { status, body } of refused)
        expect([status, body.error.code]).toEqual([503, "attachments_unavailable"]);
      const metrics = await replica.deps.metrics.metrics();
      expect(metrics).toContain(
        `marina_apiserver_attachment_store_failures_total{reason="${reason}"} ${refused.length}`,
      );
      expect((await desk.send("GET")).body.items).toHaveLength(2);
      expect((await desk.write({ body: "Still here." })).status).toBe(201);
      expect((await before.send("POST", `/${uploaded}/complete`)).status).toBe(200);
    },
  );

  test.each([
    ["a download", "GET", "/0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11", undefined],
    ["an announcement", "POST", "", { filename: "" }],
    ["a completion", "POST", "/0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11/complete", undefined],
  ])(
    "is not configured, %s is 503 after 401, 400, 403 and 404 of the ticket, and before anything of an attachment or body",
    async (_case, method, path, body) => {
      const org = await makeOrganization(healthy, issuer);
      const ticketId = await createTicketRequests(healthy, staff).open(org);
      const stranger = await makeOrganization(healthy, issuer);
      const replica = await startReplica();
      const missing = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
      const send = async (...desk: [ticketId: string, who: Person, org?: typeof org]) => {
        const response = await openDesk(replica, ...desk).send(method, path, body);
        return [response.status, response.body.error.code];
      };
      expect(await send(ticketId, org.owner, org)).toEqual([503, "attachments_unavailable"]);
      expect(await send(ticketId, staff)).toEqual([503, "attachments_unavailable"]);
      expect(await send(missing, org.owner, org)).toEqual([404, "not_found"]);
      expect(await send(missing, staff)).toEqual([404, "not_found"]);
      expect(await send(ticketId, stranger.owner, org)).toEqual([404, "not_found"]);
      expect(await send(ticketId, stranger.owner)).toEqual([403, "forbidden"]);
      expect(await send("no-uuid", org.owner, org)).toEqual([400, "bad_request"]);
      expect(await send(ticketId, { ...staff, token: "unknown" }, org)).toEqual([401, "unauthorized"]);
    },
  );

  test("is away, an announcement is carried out by the next attempt with its Idempotency-Key", async () => {
    const org = await makeOrganization(healthy, issuer);
    const ticketId = await createTicketRequests(healthy, staff).open(org);
    const replica = await startReplica(testStorage({ endpoint: "http://127.0.0.1:9" }));
    const body = describeFile(randomBytes(10));
    const send = (api: TestApp) =>
      openDesk(api, ticketId, org.owner, org).send("POST", "", body, { "idempotency-key": "again" });
    expect((await send(replica)).status).toBe(503);
    expect((await send(healthy)).status).toBe(201);
  });
});
