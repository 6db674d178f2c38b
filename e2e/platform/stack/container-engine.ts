import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";

/** The responses of a container engine that Cluster API's in-memory provider needs: the capacity of this machine. */
export interface ContainerEngine {
  socket: string;
  close(): void;
}

// The path of a Unix socket may hold 107 bytes (unix(7)), 103 on macOS.
const MAX_SOCKET_PATH = 100;

function placeSocket(dir: string): { socket: string; remove: () => void } {
  const socket = join(dir, "engine.sock");
  if (Buffer.byteLength(socket) <= MAX_SOCKET_PATH) {
    const remove = (): void => rmSync(socket, { force: true });
    // A killed start leaves its socket behind, which blocks the address.
    remove();
    return { socket, remove };
  }
  const folder = mkdtempSync(join(tmpdir(), "marina-"));
  return {
    socket: join(folder, "engine.sock"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/**
 * Listens on a Unix socket in the run directory, or in the temporary folder when that path is too long. The provider
 * reads the capacity of its machine templates there, for scaling from zero, and logs errors continuously without it.
 */
export async function startContainerEngine(dir: string): Promise<ContainerEngine> {
  const { socket, remove } = placeSocket(dir);
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
      remove();
    },
  };
}
