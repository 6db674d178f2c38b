import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { messageOf } from "../../../shared/program/errors.ts";
import type { StackInfo } from "./stack-info.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of the stack.json of the stack that all tests share. */
    stackJson: string;
  }
}

const OBJECT_STORE_DEADLINE_MS = 580_000;

/** Pause between two looks of a wait; it grows with what the wait has taken, for a look may start a program. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 1000;
const PAUSE_SHARE = 0.05;

export interface WaitOptions {
  /** Default 400_000: below the test's own deadline, so that this error is reported. */
  timeoutMs?: number;
  /** Default: 250 at first, and 1000 after 20 s. */
  intervalMs?: number;
}

export interface KubectlOptions {
  stdin?: string;
  /** Another kubeconfig than the management cluster's, for example a tenant's. */
  kubeconfig?: string;
  stack?: StackInfo;
}

/** The stack that the global setup of this test run has started. */
export function readStack(): StackInfo {
  return JSON.parse(readFileSync(inject("stackJson"), "utf8"));
}

function describe(value: unknown): string {
  return value instanceof Error ? value.message : (JSON.stringify(value) ?? String(value));
}

/**
 * Polls until the condition returns a truthy value, and returns it. An exception counts as "not yet". The timeout
 * error names what was awaited and the last result.
 */
export async function waitFor<T>(
  what: string,
  condition: () => T | Promise<T>,
  { timeoutMs = 400_000, intervalMs }: WaitOptions = {},
): Promise<NonNullable<T>> {
  const startedAt = Date.now();
  const deadline = startedAt + timeoutMs;
  const growingPauseMs = () =>
    Math.min(Math.max(FIRST_PAUSE_MS, (Date.now() - startedAt) * PAUSE_SHARE), LONGEST_PAUSE_MS);
  let last: unknown;
  do {
    try {
      const value = await condition();
      if (value !== undefined && value !== null && value !== false) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    await sleep(intervalMs ?? growingPauseMs());
  } while (Date.now() < deadline);
  throw new Error(`waited ${timeoutMs / 1000} s for ${what}; last result: ${describe(last)}`);
}

/**
 * Undefined for a refusal that asks to try again, as one gets on a slow machine: for `waitFor`. A 202 says with the same header
 * when to look again.
 */
export function unlessToRetry<R extends Pick<Response, "status" | "headers">>(response: R): R | undefined {
  const isToRetry = response.status >= 400 && response.headers.has("retry-after");
  return isToRetry ? undefined : response;
}

/** Waits for the S3 server of the stack, which may join after the API answers. */
export async function waitForObjectStore(): Promise<StackInfo["objectStore"]> {
  const { objectStore } = readStack();
  await waitFor("the object store", () => fetch(objectStore.endpoint), {
    timeoutMs: OBJECT_STORE_DEADLINE_MS,
  });
  return objectStore;
}

/** Waits for the container registry of the stack in the same way. */
export async function waitForRegistry(): Promise<StackInfo["registry"]> {
  const { registry } = readStack();
  await waitFor("the registry", () => fetch(`${registry.url}/v2/`), { timeoutMs: OBJECT_STORE_DEADLINE_MS });
  return registry;
}

/**
 * kubectl waits 32 s for the description of the API before it sends anything; on a busy machine, after a change of definitions, that
 * takes longer.
 */
const IS_DESCRIPTION_LATE = /Get "[^"]+\/openapi\/v[23][^"]*": context deadline exceeded/;

/**
 * Runs kubectl against the management cluster, again where the description of the API was late; rejects with its error output when
 * it fails.
 */
export async function kubectl(
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<{ stdout: string; stderr: string }> {
  return runKubectl(args, options).catch((error: unknown) => {
    if (!IS_DESCRIPTION_LATE.test(messageOf(error))) throw error;
    return runKubectl(args, options);
  });
}

function runKubectl(
  args: readonly string[],
  { stdin = "", kubeconfig, stack = readStack() }: KubectlOptions,
): Promise<{ stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const all = [`--kubeconfig=${kubeconfig ?? stack.kubeconfig}`, ...args];
    const child = execFile(stack.kubectl, all, { maxBuffer: 64 * 2 ** 20 }, (error, stdout, stderr) => {
      if (error === null) resolve({ stdout, stderr });
      else reject(new Error(`kubectl ${args.join(" ")}: ${stderr.trim() || messageOf(error)}`));
    });
    child.stdin?.end(stdin);
  });
}
