import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { findFreePort } from "../../e2e/platform/programs/free-port.ts";
import { checkImage } from "./images.ts";

/** A registry that answers has more time in a test: the machine may be slow. */
const PATIENT: { deadlineMs?: number } = { deadlineMs: 60_000 };

/** What is said of an image in a registry that answers like this. */
async function checkAnswered(answer: RequestListener, options = PATIENT) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const check = await checkImage(`127.0.0.1:${(server.address() as AddressInfo).port}/ca:v1`, options);
  server.closeAllConnections();
  server.close();
  return check;
}

test("an image that its registry has is ok, and one that it has not is a warning that says what to do", async () => {
  const has: RequestListener = ({ method, url, headers }, response) => {
    const isAsked = method === "HEAD" && headers.accept?.includes("application/vnd.oci.image.index.v1+json");
    response.writeHead(isAsked && url === "/v2/ca/manifests/v1" ? 200 : 400).end();
  };
  expect(await checkAnswered(has)).toMatchObject({ state: "ok" });
  expect(await checkAnswered((_, response) => response.writeHead(404).end())).toMatchObject({
    state: "warning",
    about: "image",
    text: expect.stringMatching(/has no 127\.0\.0\.1:\d+\/ca:v1: .*Push it/),
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
  expect(await checkAnswered(() => undefined, {})).toMatchObject({
    state: "unknown",
    text: expect.stringContaining("it did not answer within 3 s"),
  });
});
