import { afterEach, expect, test } from "vitest";
import { VERSION_CATALOGUE_KEY } from "../../shared/crd/names.ts";
import { createClient } from "../../shared/kube/client.ts";
import { json, startTestServer, status } from "../../shared/kube/testing.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { createLogger } from "../../shared/program/log.ts";
import { createCatalogueReader } from "./catalogue.ts";

const entry = { version: "1.34.2", status: "supported" } as const;
const refused = status(403, "Forbidden");
const found = json(200, {
  metadata: { name: "versions" },
  data: { [VERSION_CATALOGUE_KEY]: JSON.stringify([entry]) },
});

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

test("while Kubernetes refuses, responses that can do without the catalogue cause one read and one line of the log in 5 s", async () => {
  const { reader, server, lines, pass } = await startReader(refused, found);
  for (let request = 0; request < 20; request++) expect(await reader.readCached()).toEqual([]);
  expect(server.received).toHaveLength(1);
  expect(lines).toHaveLength(1);

  pass(5_000);
  expect(await reader.readCached()).toEqual([entry]);
  expect(server.received).toHaveLength(2);
});

test("a write asks again at once after a failed read", async () => {
  const { reader, server } = await startReader(refused, refused, found);
  expect(await reader.readCached()).toEqual([]);
  await expect(reader.read()).rejects.toMatchObject({ status: 503 });
  expect(await reader.read()).toEqual([entry]);
  expect(server.received).toHaveLength(3);
});

async function startReader(...responders: Parameters<typeof startTestServer>) {
  const server = await startTestServer(...responders);
  const transport = createTransport({ connection: { server: server.url } });
  open.push(
    () => transport.close(),
    () => server.close(),
  );
  const lines: string[] = [];
  let nowMs = Date.parse("2026-11-25T09:00:00Z");
  const reader = createCatalogueReader({
    kube: createClient(transport),
    now: () => new Date(nowMs),
    log: createLogger({ name: "test", level: "warn", destination: { write: (line) => lines.push(line) } }),
    config: { platformNamespace: "marina-system" },
  });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { reader, server, lines, pass };
}
