import { Buffer } from "node:buffer";
import type { RequestListener } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import type { TenantClient } from "../../../shared/tenant/tenant-client.ts";
import { createTestServers } from "../../../shared/tenant/testing-server.ts";
import { readRemovedApis } from "../../../shared/tenant/upgrade/api-server-checks.ts";
import { readChecks } from "../tenant-reader.ts";
import { aCluster, aKubeconfig, createReader, json, large, listOf, slowBytes } from "../testing-tenant.ts";

const { authority, serve, connect, stopAll } = await createTestServers();
afterEach(stopAll);

const LINE =
  'apiserver_requested_deprecated_apis{group="policy",removed_release="1.35",resource="budgets",subresource="",version="v1beta1"} 1';
const object = { kind: "APIResource", namespace: null, name: "budgets.v1beta1.policy" };
const found = expect.objectContaining({ check: "removed_api", object });

const SAMPLE = `apiserver_request_total{resource="${"x".repeat(80)}"} 1\n`;
const MEGABYTE_OF_SAMPLES = Buffer.alloc(1024 * 1024, SAMPLE);
const text =
  (...lines: string[]): RequestListener =>
  (_request, response) =>
    response.end(lines.join("\n"));

/** The checks of a cluster in which only its metrics may be found at fault. */
async function check(metrics: RequestListener) {
  const url = await serve((request, response) => {
    const { pathname } = new URL(request.url ?? "", "https://tenant");
    if (pathname === "/metrics") return metrics(request, response);
    return json({ ...listOf([]), gitVersion: "v1.34.2" })(request, response);
  });
  const reader = createReader(aKubeconfig(url, authority.certificate));
  return (await readChecks(reader, aCluster(url), ["1.35.1"]))("1.35.1");
}

test("an API in use is found in 12 MiB of metrics, which is more than other responses may have", async () => {
  expect(await check(large(12, { each: MEGABYTE_OF_SAMPLES, first: `${LINE}\n` }))).toEqual([found]);
});

test("an API in use is found before the last of the metrics has arrived", async () => {
  const wasFound = Promise.withResolvers<void>();
  const url = await serve(async (_request, response) => {
    response.write(`${LINE}\n`);
    await wasFound.promise;
    response.end(SAMPLE);
  });
  const checks = await connect(url, async (client) => {
    const read: unknown[] = [];
    for await (const one of readRemovedApis(client, ["1.35.1"])) {
      read.push(one.check);
      wasFound.resolve();
    }
    return read;
  });
  expect(checks).toEqual([found]);
});

describe("what is removed is unknown, with the reason, and beside what was found, when the API server", () => {
  test.each<[string, RequestListener, RegExp]>([
    ["sends 420 MB of metrics", large(420, { each: MEGABYTE_OF_SAMPLES }), /max size|bytes together/],
    [
      "sends 16 MB of short lines",
      large(16, { each: Buffer.alloc(1024 * 1024, "a\n") }),
      /more than 250000 lines/,
    ],
    ["sends a line without end", large(420), /a line has more than 16384 characters/],
    ["sends nothing", text(""), /none of an API server/],
    ["sends HTML", text("<html>", "</html>"), /none of an API server/],
    ["sends an object", json({ metrics: [LINE] }), /none of an API server/],
    ["sends metrics of another program", text("go_goroutines 1"), /none of an API server/],
    ["sends bytes that are no text", (_request, response) => response.end(Buffer.alloc(5000, 0xff)), /none/],
    ["refuses", json({ kind: "Status", code: 403, message: "no" }, 403), /could not be read: no$/],
    ["refuses with 420 MB", large(420, { status: 403 }), /max size|bytes together/],
    ["breaks its connection", (request) => void request.socket.destroy(), /could not be read/],
  ])("%s", async (_name, metrics, reason) => {
    expect(await check(metrics)).toEqual([
      expect.objectContaining({
        check: "unknown",
        object: { kind: "NonResourceURL", namespace: null, name: "/metrics" },
        message: expect.stringMatching(reason),
      }),
    ]);
  });
});

test.each<[string, RequestListener]>([
  ["sends a byte at a time", slowBytes],
  ["sends no byte", () => undefined],
])("metrics of an API server that %s are read no longer than all that is read", async (_name, metrics) => {
  const url = await serve(metrics);
  const read = async (client: TenantClient) => {
    for await (const { check: one } of readRemovedApis(client, ["1.35.1"])) expect.unreachable(one.message);
  };
  const deadlines = { callMs: 500, allMs: 500 };
  await expect(connect(url, read, deadlines)).rejects.toMatchObject({ reason: "DeadlineExceeded" });
});
