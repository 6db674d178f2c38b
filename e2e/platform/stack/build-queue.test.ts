import { expect, test } from "vitest";
import { type Buildable, type BuildOptions, createBuildQueue } from "./build-queue.ts";

const signal = new AbortController().signal;

function item(name: string, log: string[], built = false, fault?: string): Buildable {
  let isBuilt = built;
  return {
    name,
    isBuilt: () => isBuilt,
    async build() {
      log.push(`+${name}`);
      await Promise.resolve();
      if (fault !== undefined) throw new Error(fault);
      isBuilt = true;
      log.push(`-${name}`);
    },
  };
}

test("what is missing is built one after another, in the order of the queue; what is there is not built", async () => {
  const log: string[] = [];
  const queue = createBuildQueue([item("etcd", log), item("kubectl", log, true), item("helm", log)]);
  expect(queue.pending()).toEqual(["etcd", "helm"]);
  await queue.built("kubectl");
  await queue.run(signal);
  expect(log).toEqual(["+etcd", "-etcd", "+helm", "-helm"]);
  expect(queue.pending()).toEqual([]);
});

test("each is reported as soon as it is built, before what comes later", async () => {
  const log: string[] = [];
  const queue = createBuildQueue([item("etcd", log), item("helm", log)]);
  const first = queue.built("etcd").then(() => [...log]);
  await queue.run(signal);
  expect(await first).not.toContain("-helm");
});

test("a failed build is reported to those that wait for it, and what comes later is built", async () => {
  const log: string[] = [];
  const queue = createBuildQueue([item("etcd", log, false, "no room"), item("helm", log)]);
  await queue.run(signal);
  await expect(queue.built("etcd")).rejects.toThrow("no room");
  await queue.built("helm");
  expect(queue.pending()).toEqual(["etcd"]);
});

test("once it is stopped nothing else is built, and what waits is rejected", async () => {
  const log: string[] = [];
  const queue = createBuildQueue([item("etcd", log)]);
  await queue.run(AbortSignal.abort());
  await expect(queue.built("etcd")).rejects.toThrow("stopped");
  expect(log).toEqual([]);
});

test("what is not needed first waits for the moment, and is then built in the background", async () => {
  const log: string[] = [];
  const items = ["rules", "etcd", "helm"].map((name) => ({
    name,
    isBuilt: () => false,
    build: async ({ isBackground }: BuildOptions) => void log.push(`${name} ${isBackground}`),
  }));
  const ready = Promise.withResolvers<void>();
  const queue = createBuildQueue(items);
  const run = queue.run(signal, { names: ["etcd"], done: ready.promise });
  await queue.built("etcd");
  log.push("ready");
  ready.resolve();
  await run;
  expect(log).toEqual(["rules false", "etcd false", "ready", "helm true"]);
});
