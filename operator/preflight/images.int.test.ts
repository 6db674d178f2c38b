import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFreePort } from "../../e2e/platform/programs/free-port.ts";
import { type PlainRegistry, startPlainRegistry } from "../../e2e/testing/plain-registry.ts";
import { checkImage } from "./images.ts";

const INDEX = "application/vnd.oci.image.index.v1+json";
const folder = mkdtempSync(join(tmpdir(), "marina-preflight-"));
let registry: PlainRegistry;

beforeAll(async () => {
  registry = await startPlainRegistry(folder);
  const pushed = await fetch(`http://${registry.host}/v2/autoscaling/ca/manifests/v1`, {
    method: "PUT",
    headers: { "content-type": INDEX },
    body: JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [] }),
  });
  if (pushed.status !== 201) throw new Error(await pushed.text());
});
afterAll(async () => {
  await registry.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What is said of an image in a registry that answers like this. */
async function checkAnswered(answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const check = await checkImage(`127.0.0.1:${(server.address() as AddressInfo).port}/ca:v1`);
  server.closeAllConnections();
  server.close();
  return check;
}

test("an image that its registry has is ok, and one that it has not is a warning that says what to do", async () => {
  expect(await checkImage(`${registry.host}/autoscaling/ca:v1`)).toMatchObject({ state: "ok" });
  expect(await checkImage(`${registry.host}/autoscaling/ca:v2`)).toMatchObject({
    state: "warning",
    about: "image",
    text: expect.stringMatching(/has no localhost:\d+\/autoscaling\/ca:v2: .*Push it/),
  });
  expect(await checkImage("No Name")).toMatchObject({ state: "warning", about: "image" });
});

test.each([401, 403, 429, 500])("an answer %i leaves unknown whether the image is there", async (status) => {
  const check = await checkAnswered((_, response) => response.writeHead(status).end());
  expect(check).toMatchObject({
    state: "unknown",
    text: expect.stringContaining(`it answered ${status} to a request without credentials`),
  });
});

test("a registry that cannot be reached, or does not answer within 3 s, leaves it unknown", async () => {
  expect(await checkImage(`localhost:${await findFreePort()}/ca:v1`)).toMatchObject({
    state: "unknown",
    text: expect.stringContaining("it cannot be reached (ECONNREFUSED)"),
  });
  expect(await checkAnswered(() => undefined)).toMatchObject({
    state: "unknown",
    text: expect.stringContaining("it did not answer within 3 s"),
  });
});
