import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { ensureTestTool } from "../platform/stack/test-tools.ts";
import { waitFor } from "../platform/stack/testing.ts";

/** A TCP proxy in front of the server of a kubeconfig, whose connections can be made half-open. */
export interface Toxiproxy {
  /** The given kubeconfig, with this proxy's address. */
  kubeconfig: string;
  /** Stops forwarding in both directions without closing a connection. */
  freeze(): Promise<void>;
  close(): Promise<void>;
}

export async function openToxiproxy(kubeconfig: string): Promise<Toxiproxy> {
  const [admin, listen] = [await findFreePort(), await findFreePort()];
  const program = await ensureTestTool("toxiproxy");
  const child = spawn(program, ["-host", "127.0.0.1", "-port", String(admin)], { stdio: "ignore" });
  const call = async (method: string, path: string, body?: object) => {
    const url = `http://127.0.0.1:${admin}${path}`;
    const response = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) });
    if (!response.ok) throw new Error(`toxiproxy: ${method} ${path}: ${await response.text()}`);
  };
  await waitFor("toxiproxy", () => call("GET", "/version").then(() => true), {
    intervalMs: 50,
  });
  const config = JSON.parse(readFileSync(kubeconfig, "utf8"));
  const upstream = new URL(config.clusters[0].cluster.server).host;
  await call("POST", "/proxies", { name: "api", listen: `127.0.0.1:${listen}`, upstream });
  config.clusters[0].cluster.server = `https://127.0.0.1:${listen}`;
  const file = `${kubeconfig}.toxic`;
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return {
    kubeconfig: file,
    async freeze() {
      for (const stream of ["upstream", "downstream"]) {
        const toxic = { name: stream, type: "timeout", stream, attributes: { timeout: 0 } };
        await call("POST", "/proxies/api/toxics", toxic);
      }
    },
    async close() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
