import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP proxy to a real API server whose connections a test can break and restore. */
export interface TestProxy {
  /** The server's address through the proxy; the host is unchanged, so that its certificate fits. */
  url: string;
  /** Closes all connections and refuses new ones. */
  cut(): void;
  /** Keeps connections open and forwards nothing: an unresponsive peer. */
  freeze(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function startTestProxy(server: string): Promise<TestProxy> {
  const { hostname, port } = new URL(server);
  const sockets = new Set<Socket>();
  let state: "forwarding" | "cut" | "frozen" = "forwarding";
  const closeAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const listener = createServer((client) => {
    if (state === "cut") {
      client.destroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (chunk) => state === "forwarding" && to.write(chunk));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://${hostname}:${(listener.address() as AddressInfo).port}`,
    cut() {
      state = "cut";
      closeAll();
    },
    freeze() {
      state = "frozen";
    },
    restore() {
      // Frozen connections have dropped bytes and cannot continue.
      closeAll();
      state = "forwarding";
    },
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        closeAll();
      }),
  };
}
