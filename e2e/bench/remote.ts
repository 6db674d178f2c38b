import { fork } from "node:child_process";
import { once } from "node:events";

/** The functions of a program, called from another process: each takes one value and answers with one. */
// biome-ignore lint/suspicious/noExplicitAny: the values of each function are its own.
type Methods = { [name: string]: (input: any) => unknown };

interface Call {
  id: number;
  name: string;
  input: unknown;
}

interface Answer {
  id: number;
  result?: unknown;
  error?: string;
}

/** A program in a separate process. */
export interface Remote<Of> {
  call<Name extends keyof Of>(
    name: Name,
    // biome-ignore lint/suspicious/noExplicitAny: it only infers the types of the function.
    ...input: Of[Name] extends (...input: infer Input) => any ? Input : never
    // biome-ignore lint/suspicious/noExplicitAny: likewise.
  ): Promise<Of[Name] extends (...input: any[]) => infer Result ? Awaited<Result> : never>;
  pid: number;
  stop(): Promise<void>;
}

/** Answers the calls of the process that started this one, and ends with it. */
export function serve(methods: Methods): void {
  const answer = async ({ id, name, input }: Call): Promise<Answer> => {
    try {
      return { id, result: await methods[name]?.(input) };
    } catch (error) {
      return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  process.on("message", (call: Call) => void answer(call).then((sent) => process.send?.(sent)));
  process.on("disconnect", () => process.exit());
}

/** Starts a program that serves its functions. */
export function startRemote<Of>(file: string): Remote<Of> {
  const child = fork(file, { serialization: "advanced" });
  const waiting = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>();
  let calls = 0;
  child.on("message", ({ id, result, error }: Answer) => {
    const waiter = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) waiter?.resolve(result as never);
    else waiter?.reject(new Error(error));
  });
  child.on("exit", (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} ended with code ${code}`));
  });
  return {
    call: (name, ...[input]) =>
      new Promise((resolve, reject) => {
        calls += 1;
        waiting.set(calls, { resolve, reject });
        child.send({ id: calls, name, input } as Call);
      }),
    pid: child.pid ?? 0,
    async stop() {
      if (child.exitCode !== null) return;
      child.disconnect();
      await once(child, "exit");
    },
  };
}
