import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

export interface HeldRequest {
  path: string;
  webhookId: string;
}

/** An HTTPS endpoint in this process that decides when a request is answered. */
export interface HeldEndpoint {
  url: string;
  requests: HeldRequest[];
  /** The next request on this path, which waits until `answer` is called. Others are answered with 204 at once. */
  holdNext(path: string): Promise<HeldResponse>;
  close(): Promise<void>;
}

export interface HeldResponse {
  /** Answers with 204; resolves when the answer has been handed to the kernel. */
  answer(): Promise<void>;
}

/** Starts it with the serving certificate of the stack in `dir`, whose authority its API servers trust. */
export async function startHeldEndpoint(dir: string): Promise<HeldEndpoint> {
  const certificates = join(dir, "certificates");
  const files = {
    cert: readFileSync(join(certificates, "tls.crt")),
    key: readFileSync(join(certificates, "tls.key")),
  };
  const holders = new Map<string, (response: ServerResponse) => void>();
  const requests: HeldRequest[] = [];
  const server = createServer(files, (request, response) => {
    const path = request.url ?? "";
    request.resume().once("end", () => {
      requests.push({ path, webhookId: String(request.headers["webhook-id"]) });
      const hold = holders.get(path);
      holders.delete(path);
      if (hold === undefined) response.writeHead(204).end();
      else hold(response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    holdNext: (path) =>
      new Promise((resolve) => {
        holders.set(path, (response) => {
          resolve({
            async answer() {
              const finished = once(response, "finish");
              response.writeHead(204).end();
              await finished;
            },
          });
        });
      }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
