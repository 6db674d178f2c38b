// The library needs this polyfill before it is loaded.
import "reflect-metadata";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import * as x509 from "@peculiar/x509";

export interface Identity {
  cert: string;
  key: string;
}

export interface IssueOptions {
  /** Host names and IP addresses. */
  hosts: readonly string[];
  expired?: boolean;
  /** Signed by its own key instead of the authority's. */
  selfSigned?: boolean;
}

export interface Authority {
  /** Its certificate in PEM. */
  bundle: string;
  issue(options: IssueOptions): Promise<Identity>;
}

const EC = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const HOUR_MS = 3_600_000;

export async function createAuthority(): Promise<Authority> {
  const keys = await generateKeys();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=test authority",
    keys,
    signingAlgorithm: EC,
    ...validity(false),
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    bundle: authority.toString("pem"),
    async issue({ hosts, expired = false, selfSigned = false }) {
      const own = await generateKeys();
      const names = hosts.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? "ip" : "dns", value }) as const);
      const certificate = await x509.X509CertificateGenerator.create({
        subject: "CN=receiver",
        issuer: selfSigned ? "CN=receiver" : authority.subject,
        publicKey: own.publicKey,
        signingKey: selfSigned ? own.privateKey : keys.privateKey,
        signingAlgorithm: EC,
        ...validity(expired),
        extensions: [new x509.SubjectAlternativeNameExtension(names)],
      });
      const key = await crypto.subtle.exportKey("pkcs8", own.privateKey);
      return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
    },
  };
}

function generateKeys() {
  return crypto.subtle.generateKey(EC, true, ["sign", "verify"]);
}

function validity(expired: boolean): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - 2 * HOUR_MS), notAfter: new Date(now + (expired ? -1 : 1) * HOUR_MS) };
}

export interface Listening {
  port: number;
  /** Connections that are open now. */
  open(): number;
  /** Connections since the start, of every kind. */
  accepted(): number;
  /** Resets all connections. */
  reset(): void;
  /** Closes it with all its connections. */
  close(): void;
}

/** Lets a server listen on a free port of this address and counts its connections. */
export async function listen(server: Server, address = "127.0.0.1"): Promise<Listening> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on("connection", (socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, address);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    accepted: () => accepted,
    reset() {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Starts an HTTPS server that answers with the handler. */
export function startReceiver(
  identity: Identity,
  handler: RequestListener,
  address?: string,
): Promise<Listening> {
  const server = createHttpsServer({ ...identity, keepAliveTimeout: 60_000 }, handler);
  server.on("clientError", () => undefined);
  return listen(server, address);
}
