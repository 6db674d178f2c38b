import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { ensureCertificates } from "../../../e2e/platform/stack/certificates.ts";

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Receiver {
  url: string;
  /** Signs its certificate. */
  ca: string;
  requests: Received[];
  /** How requests are answered; the default is 204 at once. */
  answer: (received: Received, response: ServerResponse) => void;
  close(): Promise<void>;
}

/** An HTTPS endpoint on loopback that keeps what it receives. */
export async function startReceiver(): Promise<Receiver> {
  const dir = mkdtempSync(join(tmpdir(), "receiver-"));
  const certificates = await ensureCertificates(dir);
  const tls = {
    cert: readFileSync(certificates.serverCertFile),
    key: readFileSync(certificates.serverKeyFile),
  };
  rmSync(dir, { recursive: true });
  const server = createServer(tls, (request, response) => {
    void text(request).then((body) => {
      const { url: path = "", headers } = request;
      const received = { path, headers, body };
      receiver.requests.push(received);
      receiver.answer(received, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const receiver: Receiver = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: certificates.ca,
    requests: [],
    answer: (_, response) => response.writeHead(204).end(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
