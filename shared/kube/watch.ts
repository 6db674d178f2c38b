import { KubeError, toKubeError } from "./errors.ts";
import type { Kind } from "./kind.ts";
import { acceptOf, collectionPath, metadataOf, readAs } from "./object.ts";
import type { Transport } from "./transport.ts";

export interface WatchOptions {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  resourceVersion: string;
  /** The server ends the watch after this time. */
  timeoutSeconds: number;
  /** No line, not even a bookmark, for this long ends the watch with a KubeError, reason "Idle" (a dead connection). */
  idleTimeoutMs?: number | undefined;
  /** Called when the server accepted the watch. */
  onOpen?: (() => void) | undefined;
  signal: AbortSignal;
}

export type WatchEvent<T> =
  | { type: "ADDED" | "MODIFIED" | "DELETED"; object: T }
  | { type: "BOOKMARK"; resourceVersion: string };

interface WatchLine<T> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: T;
}

/** Ends when the server closes the watch; throws a KubeError on an ERROR event, a broken or an idle stream. */
export async function* watchEvents<T>(
  transport: Transport,
  kind: Kind<T>,
  opts: WatchOptions,
): AsyncGenerator<WatchEvent<T>> {
  const path = collectionPath(kind, opts.namespace);
  const lines = await transport.openStream({
    path,
    query: {
      labelSelector: opts.labelSelector,
      fieldSelector: opts.fieldSelector,
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: opts.resourceVersion,
      timeoutSeconds: opts.timeoutSeconds,
    },
    accept: acceptOf(kind, "object"),
    idleTimeoutMs: opts.idleTimeoutMs,
    signal: opts.signal,
    kindPlural: kind.plural,
  });
  opts.onOpen?.();
  for await (const line of lines) {
    const event = parseWatchLine<T>(line, path);
    if (event.type === "ERROR") {
      throw toKubeError({ status: 500, headers: {}, body: event.object }, `WATCH ${path}`);
    }
    if (event.type === "BOOKMARK") {
      yield { type: "BOOKMARK", resourceVersion: metadataOf(event.object).resourceVersion ?? "" };
    } else {
      yield { type: event.type, object: readAs(kind, event.object) };
    }
  }
}

function parseWatchLine<T>(line: string, path: string): WatchLine<T> {
  try {
    return JSON.parse(line) as WatchLine<T>;
  } catch (cause) {
    const kubeMessage = `a watch event is not JSON: ${line.slice(0, 100)}`;
    throw new KubeError({ status: 0, reason: "Unreachable", kubeMessage, request: `WATCH ${path}`, cause });
  }
}
