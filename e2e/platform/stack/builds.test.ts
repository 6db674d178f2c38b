import { expect, test } from "vitest";
import { createBuildQueue } from "./build-queue.ts";
import { afterBuilds } from "./builds.ts";
import type { Node } from "./supervisor.ts";

const buildable = (name: string) => ({ name, isBuilt: () => false, build: () => Promise.resolve() });
const step = (name: string, after: string[] = []): Node => ({ name, after, run: () => Promise.resolve() });

test("a part waits for the program of its name and those that it starts, as far as the queue has them", () => {
  const queue = createBuildQueue(["etcd", "kube-scheduler", "kwok", "kubectl"].map(buildable));
  const table = afterBuilds([step("etcd"), step("local-provider", ["etcd"]), step("postgres")], queue, [
    "kubectl",
  ]);
  expect(Object.fromEntries(table.map(({ name, after }) => [name, after]))).toEqual({
    "build kubectl": [],
    "build etcd": [],
    "build kube-scheduler": [],
    "build kwok": [],
    etcd: ["build etcd"],
    "local-provider": ["etcd", "build kube-scheduler", "build kwok"],
    postgres: [],
  });
});
