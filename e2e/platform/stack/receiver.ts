import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Certificates } from "./certificates.ts";
import type { Ports } from "./ports.ts";
import { requireOpenPort } from "./probes.ts";
import type { ProcessNode } from "./supervisor.ts";

/** The settings file of the webhook receiver's process. */
export interface ReceiverSettings {
  port: number;
  certFile: string;
  keyFile: string;
}

/** A delivery that the receiver got. */
export interface Delivery {
  /** Its `webhook-id`. */
  id: string;
  receivedAt: string;
  /** Whether its signature is right; null when the endpoint had no secret at that time. */
  verified: boolean | null;
  headers: Record<string, string>;
  body: string;
}

/** The address of the receiver of a run directory; every path is a separate endpoint. */
export function receiverUrlOf(ports: Ports): string {
  return `https://127.0.0.1:${ports["webhook-receiver"]}`;
}

/** An HTTPS server that takes webhook deliveries, verifies them and prints them to its log. */
export function receiverNode(dir: string, ports: Ports, certificates: Certificates): ProcessNode {
  const port = ports["webhook-receiver"] ?? 0;
  return {
    name: "webhook-receiver",
    after: [],
    process() {
      const file = join(dir, "webhook-receiver.json");
      const { serverCertFile: certFile, serverKeyFile: keyFile } = certificates;
      const settings: ReceiverSettings = { port, certFile, keyFile };
      writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
      return {
        command: process.execPath,
        args: [join(import.meta.dirname, "webhook-receiver.ts"), file],
        probe: () => requireOpenPort(port),
        stopTimeoutMs: 1000,
      };
    },
  };
}
