import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The browser of this machine; undefined when it has none. */
export function findBrowser(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders
    .flatMap((folder) => PROGRAMS.map((program) => join(folder, program)))
    .find((file) => isExecutable(file));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface Browser {
  /** Opens a page and runs an expression in it; resolves with what its promise does. */
  run<T>(url: string, expression: string): Promise<T>;
  close(): Promise<void>;
}

/** Starts a browser without a window, driven by the Chrome DevTools Protocol. */
export async function startBrowser(program: string): Promise<Browser> {
  const home = mkdtempSync(join(tmpdir(), "marina-browser-"));
  const child = spawn(
    program,
    [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      `--user-data-dir=${home}`,
      "--remote-debugging-port=0",
    ],
    { stdio: ["ignore", "ignore", "pipe"], detached: true },
  );
  const exited = once(child, "exit");
  const socket = new WebSocket(await readAddress(child));
  await once(socket, "open");
  const call = createCaller(socket);
  return {
    async run<T>(url: string, expression: string) {
      const { targetId } = await call("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
      await call("Page.enable", {}, sessionId);
      const loaded = call.event("Page.loadEventFired", sessionId);
      await call("Page.navigate", { url }, sessionId);
      await loaded;
      const answer = await call(
        "Runtime.evaluate",
        { expression, awaitPromise: true, returnByValue: true },
        sessionId,
      );
      const { result, exceptionDetails } = answer;
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
      return result.value as T;
    },
    async close() {
      socket.close();
      // The browser is a family of processes.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
      await exited;
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function readAddress({ stderr }: ChildProcess): Promise<string> {
  if (stderr === null) throw new Error("the browser has no output");
  for await (const line of createInterface({ input: stderr })) {
    const address = /^DevTools listening on (.+)$/.exec(line)?.[1];
    if (address === undefined) continue;
    stderr.resume();
    return address;
  }
  throw new Error("the browser did not start");
}

// biome-ignore lint/suspicious/noExplicitAny: answers of the protocol have many shapes
type Json = any;

interface Caller {
  (method: string, params: object, sessionId?: string): Promise<Json>;
  event(method: string, sessionId: string): Promise<void>;
}

function createCaller(socket: WebSocket): Caller {
  const answers = new Map<number, (answer: Json) => void>();
  const events = new Map<string, () => void>();
  let lastId = 0;
  socket.addEventListener("message", ({ data }) => {
    const message: Json = JSON.parse(String(data));
    answers.get(message.id)?.(message);
    events.get(`${message.method} ${message.sessionId}`)?.();
  });
  const call = (method: string, params: object, sessionId?: string) => {
    lastId += 1;
    const id = lastId;
    socket.send(JSON.stringify({ id, method, params, sessionId }));
    return new Promise<Json>((resolve, reject) => {
      answers.set(id, ({ result, error }) => {
        answers.delete(id);
        if (error === undefined) resolve(result);
        else reject(new Error(`${method}: ${error.message}`));
      });
    });
  };
  const event = (method: string, sessionId: string) =>
    new Promise<void>((resolve) => {
      events.set(`${method} ${sessionId}`, resolve);
    });
  return Object.assign(call, { event });
}
