import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { messageOf } from "../../../../shared/program/errors.ts";
import { type Counts, type FrontSpec, type Listener, listen } from "./listener.ts";

/** The state of one front: its spec and connection counts, or why it does not listen. */
export interface FrontState {
  spec: FrontSpec;
  listening: boolean;
  error?: string;
  counts: Counts;
}

export interface Fronts {
  /** Opens or changes a front; a failure to listen is reported in the state. */
  put(key: string, spec: FrontSpec): Promise<FrontState>;
  get(key: string): FrontState | undefined;
  keys(): string[];
  /** Frees the port; a missing front is not an error. */
  remove(key: string): Promise<void>;
  close(): Promise<void>;
}

interface Entry {
  spec: FrontSpec;
  listener: Listener | undefined;
  error: string | undefined;
}

const NO_COUNTS: Counts = { admitted: 0, refused: 0, limited: 0 };

function readKept(file: string): Record<string, FrontSpec> {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // Missing, or truncated by a full disk: the provider sends every spec again.
    return {};
  }
}

function describe(error: unknown, spec: FrontSpec): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") return `port ${spec.port} is in use by another program`;
  return messageOf(error);
}

/** The fronts of all tenants. Their specs are kept in `file`, so that a restart restores them. */
export async function openFronts(file: string): Promise<Fronts> {
  const entries = new Map<string, Entry>();

  function keep(): void {
    const specs = Object.fromEntries([...entries].map(([key, entry]) => [key, entry.spec]));
    const draft = `${file}.part`;
    writeFileSync(draft, JSON.stringify(specs));
    renameSync(draft, file);
  }

  async function open(key: string, spec: FrontSpec): Promise<Entry> {
    const known = entries.get(key);
    const moved = known?.spec.host !== spec.host || known.spec.port !== spec.port;
    if (known?.listener !== undefined && !moved) {
      known.listener.change(spec);
      known.spec = spec;
      return known;
    }
    await known?.listener?.close();
    const entry: Entry = { spec, listener: undefined, error: undefined };
    entries.set(key, entry);
    try {
      entry.listener = await listen(spec);
    } catch (error) {
      entry.error = describe(error, spec);
    }
    return entry;
  }

  function present({ spec, listener, error }: Entry): FrontState {
    return {
      spec,
      listening: listener !== undefined,
      ...(error === undefined ? {} : { error }),
      counts: listener?.counts ?? NO_COUNTS,
    };
  }

  for (const [key, spec] of Object.entries(readKept(file))) await open(key, spec);
  return {
    async put(key, spec) {
      const entry = await open(key, spec);
      keep();
      return present(entry);
    },
    get(key) {
      const entry = entries.get(key);
      return entry && present(entry);
    },
    keys: () => [...entries.keys()],
    async remove(key) {
      const entry = entries.get(key);
      if (entry === undefined) return;
      entries.delete(key);
      keep();
      await entry.listener?.close();
    },
    async close() {
      await Promise.all([...entries.values()].map(async ({ listener }) => listener?.close()));
    },
  };
}
