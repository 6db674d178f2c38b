import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP connection to a real API server that a test can cut and mend. */
export interface Cable {
  /** The server's address through the cable; its certificate still has to fit the host. */
  url: string;
  /** Breaks what is connected and refuses what comes. */
  cut(): void;
  /** Lets nothing pass any more while connections stay open: a dead peer. */
  freeze(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function layCable(server: string): Promise<Cable> {
  const { hostname, port } = new URL(server);
  const sockets = new Set<Socket>();
  let state: "mended" | "cut" | "frozen" = "mended";
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const listener = createServer((near) => {
    if (state === "cut") {
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (chunk) => state === "mended" && to.write(chunk));
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
      breakAll();
    },
    freeze() {
      state = "frozen";
    },
    mend() {
      // What was frozen has lost bytes and cannot go on.
      breakAll();
      state = "mended";
    },
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        breakAll();
      }),
  };
}
