import { type Buildable, type BuildQueue, createBuildQueue } from "./build-queue.ts";
import { createEstimate, recordBuildTime } from "./build-times.ts";
import { buildableOf } from "./go-tool.ts";
import { OBJECT_STORE } from "./object-store.ts";
import { formatElapsed, type Progress } from "./progress.ts";
import { PROVIDER_SETTINGS } from "./provider.ts";
import { GRYPE, REGISTRY } from "./registry.ts";
import type { StackOptions } from "./stack-options.ts";
import {
  buildablesOf,
  buildNameOf,
  cacheRoot,
  GO_MODULES,
  openTools,
  requireBuildSpace,
  type ToolName,
  type Tools,
} from "./tools.ts";
import { WORKLOAD_TOOLS } from "./workloads.ts";

export interface Builds {
  tools: Tools;
  builds: BuildQueue;
  /** Builds of programs that the stack is not ready without, also where no part of the table waits for them. */
  programs: readonly string[];
  /** Seconds that builds are expected to take, by their names. */
  estimateSeconds: (names: readonly string[]) => number;
}

/** Without them the API does not answer. */
const FIRST_TOOLS: readonly ToolName[] = ["etcd", "kube-apiserver"];

function toolsOf({ kubeconfig, provider, parts }: StackOptions): ToolName[] {
  const isEmbedded = kubeconfig === undefined;
  // Operator and events need the managers, tenant clusters the rest, and people kubectl.
  const wanted: ToolName[] = [
    ...(isEmbedded ? [...FIRST_TOOLS, ...PROVIDER_SETTINGS[provider].tools] : []),
    ...(parts === "prepared" ? WORKLOAD_TOOLS : []),
    "kubectl",
  ];
  return [...new Set(wanted)];
}

/** The queue of everything that is built, in the order in which it is needed first; nothing is built yet. */
export async function prepareBuilds(options: StackOptions, progress: Progress): Promise<Builds> {
  const tools = await openTools();
  const isEarly = options.answerEarly === true;
  const early = toolsOf(options);
  const names: ToolName[] = [...early, "helm"];
  const onWait = ({ pid }: { pid: number }) =>
    progress.line(`another start (pid ${pid}) is building the programs: waiting for it`);
  const ofStack = buildablesOf(tools, names, { onWait, ...(isEarly && { first: FIRST_TOOLS }) });
  const optional =
    options.parts === "prepared" ? [] : await Promise.all([OBJECT_STORE, REGISTRY, GRYPE].map(buildableOf));
  const isHelm = ({ name }: Buildable): boolean => name === "helm";
  // Nothing that runs uses helm: tests do, and they wait for the whole stack.
  const ordered = isEarly
    ? [...ofStack.filter((item) => !isHelm(item)), ...optional, ...ofStack.filter(isHelm)]
    : [...ofStack, ...optional];
  requireBuildSpace(tools, ofStack);
  const cacheDir = cacheRoot();
  const estimate = createEstimate(cacheDir);
  const missing = ordered.filter((item) => !item.isBuilt()).map(({ name }) => name);
  const builds = createBuildQueue(ordered, async (item, build) => {
    const startedAt = performance.now();
    const place = `${missing.indexOf(item.name) + 1} of ${missing.length}`;
    const expected = `about ${formatElapsed(estimate([item.name]) * 1000)}`;
    const work = item.name === GO_MODULES ? "downloading" : "building";
    await progress.during(`${work} ${item.name} (${place}, ${expected})`, build());
    recordBuildTime(cacheDir, item.name, (performance.now() - startedAt) / 1000);
  });
  const programs = new Set((isEarly ? early : names).map(buildNameOf));
  return { tools, builds, programs: [...programs], estimateSeconds: estimate };
}
