import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ORG_ID } from "../testing.ts";
import { createCephApi } from "./api.ts";
import { createCephDriver } from "./driver.ts";

/** Far above what any answer takes. */
const PATIENT_MS = 60_000;

/** Answers one request to a manager; a login is answered with a token. */
type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const { signal } = new AbortController();
const PREFIX = "marina-";
const PASSWORD = "right";
const aPool = (name: string, quota = 7, stored = 5) => ({
  pool_name: name,
  quota_max_bytes: quota,
  stats: { stored: { latest: stored, rate: 0, rates: [] } },
});
const OWN = aPool(PREFIX + ORG_ID);

let folder: string;
let passwordFile: string;
let server: Server;
let requests: string[];
let token: string;
let answer: Answer;
let nowMs: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ceph-"));
  passwordFile = join(folder, "password");
  await writeFile(passwordFile, `${PASSWORD}\n`);
  requests = [];
  token = "first";
  nowMs = 0;
  answer = (_request, response) => respond(response, 200, [OWN]);
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      requests.push(`${request.method} ${request.url?.split("?")[0]} ${body}`.trim());
      if (request.url === "/api/auth") return answerLogin(body, response);
      if (request.headers.authorization !== `Bearer ${token}`) return respond(response, 401, {});
      answer(request, response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

function answerLogin(body: string, response: ServerResponse): void {
  const isRight = (JSON.parse(body) as { password: string }).password === PASSWORD;
  respond(response, isRight ? 201 : 400, isRight ? { token } : { code: "invalid_credentials" });
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function connect(deadlineMs = PATIENT_MS) {
  const { port } = server.address() as AddressInfo;
  const connection = { url: `http://127.0.0.1:${port}`, username: "marina", passwordFile };
  return createCephDriver(
    createCephApi(connection, () => nowMs),
    PREFIX,
    deadlineMs,
  );
}

const failureOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);
const logins = () => requests.filter((line) => line.startsWith("POST /api/auth")).length;

describe("pools of Ceph", () => {
  test("are those with the prefix and the id of an organization; a limit of 0 is none", async () => {
    const names = [
      aPool("device_health_metrics"),
      aPool(PREFIX),
      aPool(`${PREFIX}other`),
      aPool(`others-${ORG_ID}`),
    ];
    answer = (_request, response) => respond(response, 200, [...names, aPool(PREFIX + ORG_ID, 0, 9)]);
    expect(await connect().listPools(signal)).toEqual([
      { orgId: ORG_ID, quotaBytes: undefined, usedBytes: 9 },
    ]);
  });

  test("are created with their limit, which is waited for", async () => {
    let looks = 0;
    answer = (request, response) => {
      if (request.method === "POST") return respond(response, 202, {});
      looks += 1;
      respond(response, looks === 1 ? 404 : 200, aPool(PREFIX + ORG_ID, looks === 2 ? 0 : 7));
    };
    await connect().ensurePool(ORG_ID, 7, signal);
    expect(looks).toBe(3);
    expect(JSON.parse(requests[1]?.replace("POST /api/pool ", "") ?? "")).toMatchObject({
      pool: PREFIX + ORG_ID,
      quota_max_bytes: 7,
    });
  });

  test.each([0, -1, 0.5])("are never limited to %d, and nothing is sent", async (bytes) => {
    const driver = connect();
    for (const call of [driver.setQuota(ORG_ID, bytes, signal), driver.ensurePool(ORG_ID, bytes, signal)]) {
      await expect(call).rejects.toThrow(RangeError);
    }
    expect(requests).toEqual([]);
  });

  test("of no organization are not touched", async () => {
    const error = await failureOf(connect().removePool("../osd", signal));
    expect(error).toMatchObject({ name: "StorageError", kind: "rejected" });
    expect(requests).toEqual([]);
  });

  test("that do not exist are read as none, removed, and not limited", async () => {
    answer = (_request, response) => respond(response, 404, {});
    expect(await connect().readPool(ORG_ID, signal)).toBeUndefined();
    await connect().removePool(ORG_ID, signal);
    const error = await failureOf(connect().setQuota(ORG_ID, 7, signal));
    expect(error).toMatchObject({ kind: "unavailable", message: "the pool does not exist" });
  });
});

describe("a manager of Ceph that", () => {
  test.each<[string, Answer, string, string]>([
    ["hangs", () => undefined, "unavailable", "it did not answer in time"],
    [
      "answers without end",
      (_request, response) => {
        response.writeHead(200);
        const chunk = Buffer.alloc(2 ** 20, "[");
        const write = () => {
          while (response.write(chunk));
          response.once("drain", write);
        };
        write();
      },
      "unavailable",
      "its answer is too large",
    ],
    ["hangs up", (request) => request.socket.destroy(), "unavailable", "it cannot be reached"],
    [
      "answers nonsense",
      (_request, response) => response.end("<html>"),
      "unavailable",
      "its answer cannot be understood",
    ],
    [
      "counts below 0",
      (_request, response) => respond(response, 200, [aPool(PREFIX + ORG_ID, 7, -1)]),
      "unavailable",
      "its answer cannot be understood",
    ],
    [
      "fails",
      (_request, response) => respond(response, 500, {}),
      "unavailable",
      "it answered with status 500",
    ],
    [
      "is on standby",
      (_request, response) => response.writeHead(303, { location: "http://127.0.0.1:1" }).end(),
      "unavailable",
      "it answered with status 303",
    ],
    [
      "refuses",
      (_request, response) => respond(response, 403, {}),
      "rejected",
      "it answered with status 403",
    ],
  ])("%s is a failure within the deadline, which tells no address", async (_name, broken, kind, message) => {
    answer = broken;
    const deadlineMs = _name === "hangs" ? 500 : PATIENT_MS;
    const error = await failureOf(connect(deadlineMs).listPools(signal));
    expect(error).toMatchObject({ name: "StorageError", kind, message });
  });

  test("is gone is unavailable", async () => {
    const driver = connect();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const error = await failureOf(driver.listPools(signal));
    expect(error).toMatchObject({ kind: "unavailable", message: "it cannot be reached" });
    server.listen(0);
  });

  test("forgets its tokens is logged into again, once for all that it asks for", async () => {
    const driver = connect();
    await Promise.all([driver.listPools(signal), driver.listPools(signal)]);
    expect(logins()).toBe(1);
    token = "second";
    const lists = await Promise.all([driver.listPools(signal), driver.listPools(signal)]);
    expect(lists.flat()).toHaveLength(2);
    expect(logins()).toBe(2);
  });

  test("refused a password gets the same one only half an hour later, and another one at once", async () => {
    await writeFile(passwordFile, "wrong");
    const driver = connect();
    for (const _ of [1, 2, 3]) {
      const error = await failureOf(driver.listPools(signal));
      expect(error).toMatchObject({
        kind: "rejected",
        message: "it does not accept the operator's password",
      });
    }
    expect(logins()).toBe(1);
    nowMs = 31 * 60_000;
    await failureOf(driver.listPools(signal));
    expect(logins()).toBe(2);
    await writeFile(passwordFile, PASSWORD);
    expect(await driver.listPools(signal)).toHaveLength(1);
  });
});
