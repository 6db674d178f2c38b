import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { ensureTestTool } from "../platform/stack/test-tools.ts";

/** The status of an object as computed by sigs.k8s.io/cli-utils, like Flux and kpt. */
export type KStatus = "InProgress" | "Current" | "Failed" | "Terminating" | "NotFound" | "Unknown";

export interface KStatusReader {
  compute(object: object): Promise<KStatus>;
  close(): Promise<void>;
}

/** Starts the program, which reports one object after another. */
export async function openKStatus(): Promise<KStatusReader> {
  const child = spawn(await ensureTestTool("kstatus"), { stdio: ["pipe", "pipe", "inherit"] });
  const results = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let last: Promise<unknown> = Promise.resolve();
  async function ask(object: object): Promise<KStatus> {
    child.stdin.write(`${JSON.stringify(object)}\n`);
    const { value, done } = await results.next();
    if (done) throw new Error("kstatus ended");
    return JSON.parse(value).status;
  }
  return {
    compute(object) {
      const response = last.then(() => ask(object));
      last = response.catch(() => undefined);
      return response;
    },
    async close() {
      child.stdin.end();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}
