import { expect, test } from "vitest";
import { createBuildQueue } from "./build-queue.ts";
import { afterBuilds } from "./builds.ts";
import type { Node } from "./supervisor.ts";

const buildable = (name: string) => ({ name, isBuilt: () => false, build: () => Promise.resolve() });
const step = (name: string, after: string[] = []): Node => ({ name, after, run: () => Promise.resolve() });

test("a part waits for the build of its program and those of what it starts, as far as the queue has them", () => {
  const queue = createBuildQueue(
    ["etcd and kube-apiserver", "kube-scheduler", "kwok", "kubectl"].map(buildable),
  );
  const table = afterBuilds([step("etcd"), step("local-provider", ["etcd"]), step("postgres")], queue, [
    "kubectl",
  ]);
  expect(Object.fromEntries(table.map(({ name, after }) => [name, after]))).toEqual({
    "build kubectl": [],
    "build etcd and kube-apiserver": [],
    "build kube-scheduler": [],
    "build kwok": [],
    etcd: ["build etcd and kube-apiserver"],
    "local-provider": ["etcd", "build kube-scheduler", "build kwok"],
    postgres: [],
  });
});
