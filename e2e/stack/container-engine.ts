import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";

/** Answers like a container engine, as far as Cluster API's in-memory provider asks: what this machine has. */
export interface ContainerEngine {
  socket: string;
  close(): void;
}

/**
 * Listens on a Unix socket in the temporary folder (a path may hold 107 bytes there, a run directory may be longer).
 * The provider asks for the capacity of its machine templates, which scaling from zero needs, and logs errors for ever
 * without an answer.
 */
export async function startContainerEngine(dir: string): Promise<ContainerEngine> {
  const id = createHash("sha256").update(dir).digest("hex").slice(0, 8);
  const folder = mkdtempSync(join(tmpdir(), `marina-${id}-`));
  const socket = join(folder, "engine.sock");
  const info = { NCPU: cpus().length, MemTotal: totalmem(), OSType: "linux", ServerVersion: "0" };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    response.setHeader("Api-Version", "1.47");
    response.setHeader("Content-Type", "application/json");
    if (path.endsWith("/_ping")) response.end("OK");
    else if (path.endsWith("/info")) response.end(JSON.stringify(info));
    else response.writeHead(404).end(JSON.stringify({ message: `nothing at ${path}` }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
  server.unref();
  return {
    socket,
    close() {
      server.close();
      server.closeAllConnections();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
