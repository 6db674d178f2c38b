/** Progress output for the user: one line per fact, and a timer line for long work. */
export interface Progress {
  line(text: string): void;
  /** Shows `text` with the elapsed time until the work ends; a terminal line is updated each second. */
  during(text: string, work: Promise<unknown>): Promise<void>;
}

const TERMINAL_INTERVAL_MS = 1000;
const FILE_INTERVAL_MS = 30_000;

/** 65 seconds are "1m 05s". */
export function formatElapsed(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60
    ? `${seconds}s`
    : `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
}

/** Progress on a stream; plain lines, with the time since `startedAt`, when it is not a terminal. */
export function createProgress(out: NodeJS.WriteStream, startedAt = Date.now()): Progress {
  const isTerminal = out.isTTY === true;
  const line = (text: string): void => {
    out.write(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)}s  ${text}\n`);
  };
  return {
    line,
    async during(text, work) {
      const begin = Date.now();
      const show = (): void => {
        const shown = `${text}  ${formatElapsed(Date.now() - begin)}`;
        if (isTerminal) out.write(`\r\x1b[2K${" ".repeat(9)}${shown}`);
        else line(shown);
      };
      show();
      const timer = setInterval(show, isTerminal ? TERMINAL_INTERVAL_MS : FILE_INTERVAL_MS);
      try {
        await work;
      } finally {
        clearInterval(timer);
        if (isTerminal) out.write("\r\x1b[2K");
      }
      line(`${text}: done in ${formatElapsed(Date.now() - begin)}`);
    },
  };
}

/** No output. */
export const silentProgress: Progress = {
  line: () => {},
  during: async (_text, work) => {
    await work;
  },
};
