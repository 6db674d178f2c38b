import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Fronts, openFronts } from "./fronts.ts";
import type { FrontSpec } from "./listener.ts";

/** No other program listens there or connects from there, so that a port that was free stays free. */
const HOST = "127.77.7.7";

let folder: string;
let target: Server;
let fronts: Fronts;

async function listenOnFreePort(server: Server, host: string): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  const port = await listenOnFreePort(server, HOST);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** What comes back for "ping", or the code of the error. */
function ask(port: number, localAddress: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: HOST, localAddress });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on("close", () => resolve("closed"));
    socket.on("data", (data) => {
      resolve(data.toString());
      socket.destroy();
    });
    socket.write("ping");
  });
}

async function specOf(changes: Partial<FrontSpec["rules"]> = {}): Promise<FrontSpec> {
  return {
    host: HOST,
    port: await findFreePort(),
    targetPort: (target.address() as AddressInfo).port,
    held: false,
    rules: { trusted: ["127.0.0.1/32"], allowed: undefined, limit: undefined, ...changes },
  };
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "fronts-"));
  target = createServer((socket) => {
    socket.on("error", () => {}).on("data", (data) => socket.write(`pong ${data.toString()}`));
  });
  await listenOnFreePort(target, "127.0.0.1");
  fronts = await openFronts(join(folder, "fronts.json"));
});

afterEach(async () => {
  await fronts.close();
  target.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a front passes bytes both ways, and drops a source that is not listed", async () => {
  const spec = await specOf({ allowed: ["127.0.0.3/32"] });
  await fronts.put("one", spec);
  expect(await ask(spec.port, "127.0.0.3")).toBe("pong ping");
  expect(await ask(spec.port, "127.0.0.2")).not.toContain("pong");
  expect(fronts.get("one")?.counts).toEqual({ admitted: 1, refused: 1, limited: 0 });
});

test("a change of the rules holds for the next connection without closing the port", async () => {
  const spec = await specOf({ allowed: [] });
  await fronts.put("one", spec);
  expect(await ask(spec.port, "127.0.0.2")).not.toContain("pong");
  await fronts.put("one", { ...spec, rules: { ...spec.rules, allowed: ["127.0.0.2/32"] } });
  expect(await ask(spec.port, "127.0.0.2")).toBe("pong ping");
});

test("a held connection waits, and continues once the target is ready", async () => {
  const spec = await specOf();
  await fronts.put("one", { ...spec, held: true });
  const response = ask(spec.port, "127.0.0.2");
  expect(await Promise.race([response, fronts.put("one", { ...spec, held: true })])).toMatchObject({
    listening: true,
  });
  await fronts.put("one", spec);
  expect(await response).toBe("pong ping");
});

test("a port that another program has is said in the state, and is had once it is free", async () => {
  const spec = await specOf();
  const other = createServer();
  await new Promise<void>((resolve) => {
    other.listen(spec.port, HOST, resolve);
  });
  expect(await fronts.put("one", spec)).toMatchObject({
    listening: false,
    error: `port ${spec.port} is in use by another program`,
  });
  await new Promise((resolve) => other.close(resolve));
  expect(await fronts.put("one", spec)).toMatchObject({ listening: true });
});

test("after a restart every front listens again by itself", async () => {
  const spec = await specOf();
  await fronts.put("one", spec);
  await fronts.close();
  fronts = await openFronts(join(folder, "fronts.json"));
  expect(await ask(spec.port, "127.0.0.2")).toBe("pong ping");
});

test("a removed front frees its port and does not come back", async () => {
  const spec = await specOf();
  await fronts.put("one", spec);
  await fronts.remove("one");
  expect(await ask(spec.port, "127.0.0.2")).toBe("ECONNREFUSED");
  await fronts.close();
  fronts = await openFronts(join(folder, "fronts.json"));
  expect(fronts.keys()).toEqual([]);
});
