import { StartError } from "../programs/start-error.ts";

/** Something that is built once per user and kept in the cache folder. */
export interface Buildable {
  name: string;
  isBuilt(): boolean;
  /** Leaves it built, or rejects; nothing partial stays. */
  build(options: BuildOptions): Promise<void>;
}

export interface BuildOptions {
  signal: AbortSignal;
  /** Leaves the cores to programs that run. */
  isBackground: boolean;
}

/** What is needed before a moment; everything else is built after it, in the background. */
export interface FirstBuilds {
  names: readonly string[];
  /** Resolves at that moment, and never rejects. */
  done: Promise<unknown>;
}

/** Builds one thing after another: the Go compiler uses every core by itself, and two linkers take twice the memory. */
export interface BuildQueue {
  has(name: string): boolean;
  /** What is not built yet, in order. */
  pending(): string[];
  /** Resolves when it is built, rejects with what its build threw. Throws for a name that is not in the queue. */
  built(name: string): Promise<void>;
  /**
   * Builds what is missing in the order of the queue; what fails stops none that come later. Resolves at the end and
   * never rejects: `built` reports failures. Once `signal` aborts, what is left is rejected. What is not in `first`
   * waits for its moment.
   */
  run(signal: AbortSignal, first?: FirstBuilds): Promise<void>;
}

/** A queue in which nothing is built before `run`. `onBuild` wraps every build, to report it. */
export function createBuildQueue(
  items: readonly Buildable[],
  onBuild: (item: Buildable, build: () => Promise<void>) => Promise<void> = (_item, build) => build(),
): BuildQueue {
  const results = new Map(items.map(({ name }) => [name, Promise.withResolvers<void>()]));
  const finished = new Set<string>();
  for (const item of items) {
    const result = results.get(item.name);
    // Any caller of `built` gets the failure; a failure that no caller waits for must not end the process.
    result?.promise.catch(() => {});
    if (!item.isBuilt()) continue;
    finished.add(item.name);
    result?.resolve();
  }
  const buildOne = async (item: Buildable, options: BuildOptions): Promise<void> => {
    const result = results.get(item.name);
    try {
      if (options.signal.aborted) throw new StartError("stopped");
      // Another start may have built it meanwhile.
      if (!item.isBuilt()) await onBuild(item, () => item.build(options));
      finished.add(item.name);
      result?.resolve();
    } catch (error) {
      result?.reject(error);
    }
  };
  return {
    has: (name) => results.has(name),
    pending: () => items.map(({ name }) => name).filter((name) => !finished.has(name)),
    built(name) {
      const result = results.get(name);
      if (result === undefined) throw new Error(`${name} is not in the queue`);
      return result.promise;
    },
    async run(signal, first) {
      // What stands before something that is needed must not wait for the moment.
      const last = first && items.findLastIndex(({ name }) => first.names.includes(name));
      for (const [index, item] of items.entries()) {
        if (finished.has(item.name)) continue;
        const isBackground = last !== undefined && index > last;
        if (isBackground) await first?.done;
        await buildOne(item, { signal, isBackground });
      }
    },
  };
}
