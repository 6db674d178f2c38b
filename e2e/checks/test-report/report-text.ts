import { formatElapsed } from "../../platform/stack/progress.ts";

/** A test that failed, or a file that could not be loaded. */
export interface Failure {
  title: string;
  messages: readonly string[];
  /** Runs it alone. */
  command: string;
}

export interface RunState {
  seconds: number;
  /** Duration of the latest green run of the same command on this machine. */
  lastSeconds: number | undefined;
  files: number;
  filesDone: number;
  tests: number;
  failed: number;
  /** The files that run now, with their seconds so far. */
  running: readonly (readonly [file: string, seconds: number])[];
}

const MESSAGE_LINES = 12;
const LINE_LENGTH = 300;
const SHOWN_RUNNING = 4;
/** Before so many files are done, their pace says nothing of the others. */
const FILES_OF_A_PACE = 20;

/** One line: how far a run is. */
export function describeProgress(state: RunState): string {
  const expected = describeExpected(state);
  const running = [...state.running].sort((a, b) => b[1] - a[1]).slice(0, SHOWN_RUNNING);
  const names = running.map(([file, seconds]) => `${file} ${formatElapsed(seconds * 1000)}`).join(", ");
  return (
    `=== ${formatElapsed(state.seconds * 1000)}${expected}: ${state.filesDone} of ${state.files} files, ` +
    `${state.tests} tests, ${state.failed} failed${names === "" ? "" : `; now ${names}`}\n`
  );
}

/** How long the run takes: the last one, or at the pace of the files so far; empty while nothing is known. */
function describeExpected({ lastSeconds, seconds, files, filesDone }: RunState): string {
  if (lastSeconds !== undefined) return ` (last time ${formatElapsed(lastSeconds * 1000)})`;
  if (filesDone < FILES_OF_A_PACE) return "";
  return ` (at this pace ${formatElapsed((seconds / filesDone) * files * 1000)})`;
}

/** The last line of a run: what came of it, and what to do next. */
export function describeEnd({
  seconds,
  passed,
  failed,
}: {
  seconds: number;
  passed: number;
  failed: number;
}): string {
  const took = `in ${formatElapsed(seconds * 1000)}`;
  return failed === 0
    ? `\n=== ${passed} passed ${took}. docs/contributors/testing.md says what else can be run.\n`
    : `\n=== ${passed} passed, ${failed} failed ${took}. Run each alone by its command above; logs of a stack are in its folder below .marina.\n`;
}

/** A table of seconds, one line each, and their sum. */
export function describeTimes(
  title: string,
  rows: readonly (readonly [name: string, seconds: number])[],
): string {
  const sum = rows.reduce((total, [, seconds]) => total + seconds, 0);
  const lines = rows.map(([name, seconds]) => `${seconds.toFixed(1).padStart(9)} s  ${name}`);
  return [`\n=== ${title} (${formatElapsed(sum * 1000)})`, ...lines, ""].join("\n");
}

/** What failed, why, and the command that runs it alone; empty when nothing did. */
export function describeFailures(
  failures: readonly Failure[],
  unhandled: readonly { message: string; stack?: string }[],
): string {
  const told = failures.map(({ title, messages, command }) =>
    [`FAILED ${title}`, ...messages.map(shorten), `  alone: ${command}`].join("\n"),
  );
  const errors = unhandled.map(
    ({ message, stack }) => `FAILED outside of a test\n${shorten(stack ?? message)}`,
  );
  const all = [...told, ...errors];
  return all.length === 0 ? "" : `\n=== ${all.length} failed\n${all.join("\n\n")}\n`;
}

function shorten(message: string): string {
  const lines = message.split("\n").filter((line) => !/node_modules|node:internal/.test(line));
  return lines
    .slice(0, MESSAGE_LINES)
    .map((line) => `  ${line.slice(0, LINE_LENGTH)}`)
    .join("\n");
}
