import { rmSync } from "node:fs";
import type { Part } from "./process-part.ts";
import { describeProcesses, type StackInfo, writeStackInfo } from "./stack-info.ts";

/** stack.json of one run: it is there while the stack can be used, and follows what runs and what is pending. */
export interface InfoFile {
  readonly isOpen: boolean;
  pending(): string[];
  open(info: StackInfo, parts: () => readonly Part[]): void;
  /** A node is done. */
  markDone(name: string): void;
  /** The processes have changed. */
  update(): void;
  /** Deletes it; nothing writes it again. */
  close(): void;
}

/** `names` are the nodes that are to come. */
export function createInfoFile(path: string, names: readonly string[]): InfoFile {
  const pending = new Set(names);
  let opened: { info: StackInfo; parts: () => readonly Part[] } | undefined;
  const update = (): void => {
    if (opened === undefined) return;
    opened.info.processes = describeProcesses(opened.parts());
    opened.info.pending = [...pending];
    writeStackInfo(path, opened.info);
  };
  return {
    get isOpen() {
      return opened !== undefined;
    },
    pending: () => [...pending],
    open(info, parts) {
      opened = { info, parts };
      update();
    },
    markDone(name) {
      pending.delete(name);
      update();
    },
    update,
    close() {
      opened = undefined;
      rmSync(path, { force: true });
    },
  };
}
