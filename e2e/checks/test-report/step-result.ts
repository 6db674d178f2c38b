/** What one step reports to the whole test run, as JSON in the file that MARINA_TEST_RESULT names. */
export interface StepResult {
  numPassedTests: number;
  numFailedTests: number;
  /** For all its processes; undefined where it is not measured. */
  processorSeconds?: number;
  /** What failed, why, and the command that runs it alone; empty when nothing did. */
  failures?: string;
}

/** A step of the whole run that has ended. */
export interface EndedStep {
  name: string;
  seconds: number;
  exitCode: number;
  /** Undefined when the step wrote none: it crashed. */
  result: StepResult | undefined;
  /** The end of its output. */
  tail: string;
}

/** A step that exits with an error counts as one failure when it names none itself. */
function failedOf({ exitCode, result }: EndedStep): number {
  const failed = result?.numFailedTests ?? 0;
  return failed === 0 && exitCode !== 0 ? 1 : failed;
}

/** What failed in each step, the steps with their times, and last `N passed, N failed`. */
export function summarizeSteps(steps: readonly EndedStep[]): {
  text: string;
  failed: number;
  passed: number;
} {
  const failures = steps
    .filter((step) => failedOf(step) > 0)
    .map(({ name, result, tail }) => `\nFAILED step ${name}\n${result?.failures || tail}\n`);
  const rows = steps.map((step) => {
    const { name, seconds, result } = step;
    const counts = `${result?.numPassedTests ?? 0} passed, ${failedOf(step)} failed`;
    const { processorSeconds } = result ?? {};
    const processor = processorSeconds === undefined ? "" : `, ${processorSeconds.toFixed(0)} s of processor`;
    return `${seconds.toFixed(0).padStart(6)} s  ${name}: ${counts}${processor}\n`;
  });
  const passed = steps.reduce((sum, { result }) => sum + (result?.numPassedTests ?? 0), 0);
  const failed = steps.reduce((sum, step) => sum + failedOf(step), 0);
  return {
    text: [...failures, "\n", ...rows, `${passed} passed, ${failed} failed\n`].join(""),
    failed,
    passed,
  };
}
