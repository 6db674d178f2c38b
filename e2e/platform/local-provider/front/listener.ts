import { connect, createServer, type Server, type Socket } from "node:net";
import { type AccessRules, createAdmission } from "./admission.ts";

/** One tenant's public address, its target, and its rules. */
export interface FrontSpec {
  host: string;
  port: number;
  /** Port of the tenant's kube-apiserver on 127.0.0.1. */
  targetPort: number;
  /**
   * While true new connections wait, 20 s at most: a starting kube-apiserver listens before it has loaded its roles,
   * and would refuse every client.
   */
  held: boolean;
  rules: AccessRules;
}

export interface Counts {
  admitted: number;
  refused: number;
  limited: number;
}

export interface Listener {
  readonly counts: Readonly<Counts>;
  /** New rules and a new target apply to new connections; open ones stay. */
  change(spec: FrontSpec): void;
  close(): Promise<void>;
}

const MAX_HOLD_MS = 20_000;

function drop(socket: Socket): void {
  socket.on("error", () => {});
  socket.resetAndDestroy();
}

function join(client: Socket, targetPort: number, open: Set<Socket>): void {
  const target = connect({ host: "127.0.0.1", port: targetPort, noDelay: true });
  open.add(client).add(target);
  for (const [socket, other] of [
    [client, target],
    [target, client],
  ] as const) {
    socket.on("error", () => other.destroy());
    // Data read before the end is still written to the other side.
    socket.on("close", () => {
      open.delete(socket);
      other.destroySoon();
    });
    socket.pipe(other);
  }
}

/** Listens for one tenant. Rejects with the system error (EADDRINUSE) when the port is taken. */
export async function listen(first: FrontSpec): Promise<Listener> {
  const counts: Counts = { admitted: 0, refused: 0, limited: 0 };
  const open = new Set<Socket>();
  const waiting = new Map<Socket, NodeJS.Timeout>();
  let spec = first;
  let admission = createAdmission(first.rules, performance.now());
  const server: Server = createServer({ noDelay: true }, (client) => {
    const result = admission.admit(client.remoteAddress ?? "", performance.now());
    counts[result] += 1;
    if (result !== "admitted") drop(client);
    else if (spec.held) hold(client);
    else join(client, spec.targetPort, open);
  });

  function hold(client: Socket): void {
    const timer = setTimeout(() => drop(client), MAX_HOLD_MS);
    waiting.set(client, timer);
    client.once("error", () => {});
    client.once("close", () => {
      clearTimeout(timer);
      waiting.delete(client);
    });
  }

  function release(): void {
    for (const [client, timer] of waiting) {
      clearTimeout(timer);
      join(client, spec.targetPort, open);
    }
    waiting.clear();
  }
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: first.host, port: first.port, exclusive: true }, resolve);
  });
  return {
    counts,
    change(next) {
      // An unchanged limit keeps its bucket, which another change must not refill.
      const sameRules = JSON.stringify(next.rules) === JSON.stringify(spec.rules);
      if (!sameRules) admission = createAdmission(next.rules, performance.now());
      spec = next;
      if (!spec.held) release();
    },
    close() {
      for (const socket of [...open, ...waiting.keys()]) socket.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
