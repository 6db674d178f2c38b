import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { sleep } from "../../../shared/program/time.ts";
import type { Action, Container, Probe } from "./kinds.ts";

/** Where an action of a container happens. */
export interface Target {
  address: string;
  ports: Container["ports"];
  /** The command line that runs a program inside the container. */
  execCommand(command: readonly string[]): string[];
}

/** The number of a port that is named or is a number. */
export function resolvePort(port: number | string, ports: Container["ports"]): number {
  if (typeof port === "number") return port;
  const found = ports?.find(({ name }) => name === port);
  if (found === undefined) throw new Error(`the container has no port ${port}`);
  return found.containerPort;
}

/** Does what a probe or a hook says. Throws when it fails; a response below 400 is a success. */
export async function act(action: Action, target: Target, timeoutMs: number): Promise<void> {
  const { httpGet, exec, sleep: pause } = action;
  if (httpGet) {
    const { path = "/", port, scheme = "HTTP" } = httpGet;
    const url = `${scheme.toLowerCase()}://${target.address}:${resolvePort(port, target.ports)}${path}`;
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs), redirect: "manual" });
    await response.body?.cancel();
    if (response.status < 200 || response.status >= 400) throw new Error(`${url} answers ${response.status}`);
  } else if (exec) {
    const [program = "", ...args] = target.execCommand(exec.command);
    await promisify(execFile)(program, args, { timeout: timeoutMs });
  } else if (pause) await sleep(pause.seconds * 1000);
}

/** Counts the results of a probe in a row. */
export interface ProbeCounter {
  /** Undefined while neither threshold is reached. */
  add(isSuccess: boolean): "success" | "failure" | undefined;
}

export function createProbeCounter({ successThreshold = 1, failureThreshold = 3 }: Probe): ProbeCounter {
  let last: boolean | undefined;
  let inRow = 0;
  return {
    add(isSuccess) {
      inRow = last === isSuccess ? inRow + 1 : 1;
      last = isSuccess;
      if (inRow < (isSuccess ? successThreshold : failureThreshold)) return undefined;
      return isSuccess ? "success" : "failure";
    },
  };
}

/** Runs a probe until the signal aborts, and reports each result that reaches its threshold, with the last error. */
export async function runProbe(
  probe: Probe,
  target: Target,
  signal: AbortSignal,
  onResult: (result: "success" | "failure", message: string) => void,
): Promise<void> {
  const counter = createProbeCounter(probe);
  const { initialDelaySeconds = 0, periodSeconds = 10, timeoutSeconds = 1 } = probe;
  if (!(await sleep(initialDelaySeconds * 1000, signal))) return;
  do {
    const message = await act(probe, target, timeoutSeconds * 1000).then(
      () => "",
      (error: Error) => error.message,
    );
    if (signal.aborted) return;
    const result = counter.add(message === "");
    if (result !== undefined) onResult(result, message);
  } while (await sleep(periodSeconds * 1000, signal));
}
