/** Progress output for the user: one line per fact, and a timer line for long work. */
export interface Progress {
  line(text: string): void;
  /** Shows `text` with the elapsed time until the work ends; a terminal line is updated each second. */
  during(text: string, work: Promise<unknown>): Promise<void>;
}

const TERMINAL_INTERVAL_MS = 1000;
/** The longest wait without a line. */
const REPORT_INTERVAL_MS = 10_000;
const CLEAR = "\r\x1b[2K";

/** 65 seconds are "1m 05s". */
export function formatElapsed(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60
    ? `${seconds}s`
    : `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
}

/**
 * Progress on a stream; plain lines, with the time since `startedAt`, when it is not a terminal. On a terminal the line
 * of the long work stays the last one.
 */
export function createProgress(
  out: Pick<NodeJS.WriteStream, "write" | "isTTY">,
  startedAt = Date.now(),
): Progress {
  const isTerminal = out.isTTY === true;
  let shown = "";
  const write = (text: string): void => {
    const time = `${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)}s`;
    out.write(`${shown === "" ? "" : CLEAR}${time}  ${text}\n${shown}`);
  };
  return {
    line: write,
    async during(text, work) {
      const begin = Date.now();
      const show = (): void => {
        const status = `${text}  ${formatElapsed(Date.now() - begin)}`;
        if (isTerminal) shown = `${" ".repeat(9)}${status}`;
        if (isTerminal) out.write(CLEAR + shown);
        else write(status);
      };
      show();
      const timer = setInterval(show, isTerminal ? TERMINAL_INTERVAL_MS : REPORT_INTERVAL_MS);
      try {
        await work;
      } finally {
        clearInterval(timer);
        if (isTerminal) out.write(CLEAR);
        shown = "";
      }
      write(`${text}: done in ${formatElapsed(Date.now() - begin)}`);
    },
  };
}

/**
 * Says every 10 s what is waited for, until `work` ends: nothing where it ends before. Returns its result, or its
 * error.
 */
export async function reportWhile<T>(
  progress: Progress,
  describe: () => string,
  work: Promise<T>,
  intervalMs = REPORT_INTERVAL_MS,
): Promise<T> {
  const timer = setInterval(() => progress.line(describe()), intervalMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** No output. */
export const silentProgress: Progress = {
  line: () => {},
  during: async (_text, work) => {
    await work;
  },
};
