import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { choosePorts } from "./ports.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "marina-ports-"));
});

afterEach(() => rmSync(dir, { recursive: true }));

test("each name keeps its port from start to start, and a new name gets one of its own", async () => {
  const first = await choosePorts(dir, ["etcd", "postgres"]);
  const second = await choosePorts(dir, ["etcd", "postgres", "api"]);
  expect(second).toMatchObject(first);
  expect(new Set(Object.values(second)).size).toBe(3);
});

test("stacks that choose at the same time have no port in common", async () => {
  const names = Array.from({ length: 40 }, (_, i) => `part-${i}`);
  const dirs = Array.from({ length: 20 }, () => mkdtempSync(join(dir, "stack-")));
  const chosen = await Promise.all(dirs.map((one) => choosePorts(one, names)));
  expect(new Set(chosen.flatMap((ports) => Object.values(ports))).size).toBe(800);
});

test("a kept port that another program has taken is named in one sentence", async () => {
  const { etcd = 0 } = await choosePorts(dir, ["etcd"]);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(etcd, "127.0.0.1", resolve));
  await expect(choosePorts(dir, ["etcd"])).rejects.toThrow(
    new RegExp(`^Port ${etcd}, which this stack keeps for etcd, is in use: stop the program .*ports.json`),
  );
  server.close();
});
