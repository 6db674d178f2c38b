import { writeFileSync } from "node:fs";
import {
  type Figure,
  findMissed,
  isJudged,
  isWithin,
  keepFigures,
  keyOf,
  measureUntilWithin,
  readKept,
} from "./figures.ts";
import { readBenchOptions } from "./options.ts";

export type { Figure };

/**
 * Prints a table with the figures that were kept last beside the new ones, and one machine-readable line that begins
 * with `BENCH `. With `--renew` the new ones are kept.
 */
export function report(benchmark: string, figures: readonly Figure[]): void {
  printTable(benchmark, figures);
  if (readBenchOptions().renew) keepFigures(benchmark, figures);
}

/**
 * Reports a short run, which is measured again after a miss. This process exits with 1 when a figure misses its limit by
 * more than a third, or the figure that was kept last where that misses the limit; the whole test run gets the counts.
 */
export async function reportToGate(
  benchmark: string,
  measure: () => Promise<readonly Figure[]>,
): Promise<void> {
  const kept = readKept(benchmark);
  const figures = await measureUntilWithin(kept, async () => {
    const measured = await measure();
    report(benchmark, measured);
    return measured;
  });
  const missed = findMissed(figures, kept);
  const failures = missed.map(
    (figure) => `${figure.name}: ${figure.value.toFixed(2)}, ${describeLimit(figure)}\n`,
  );
  process.stdout.write(failures.join(""));
  if (missed.length > 0) process.exitCode = 1;
  const resultFile = process.env.MARINA_TEST_RESULT;
  if (resultFile === undefined) return;
  const result = {
    numPassedTests: figures.filter(isJudged).length - missed.length,
    numFailedTests: missed.length,
    failures: failures.join(""),
  };
  writeFileSync(resultFile, JSON.stringify(result));
}

function printTable(benchmark: string, figures: readonly Figure[]): void {
  const kept = readKept(benchmark);
  console.log(`\n${benchmark}`);
  for (const figure of figures) {
    const { name, value, unit } = figure;
    const last = kept[keyOf(figure)];
    const columns = [
      name.padEnd(52),
      value.toFixed(2).padStart(9),
      unit.padEnd(4),
      (last === undefined ? "" : `last ${last}`).padEnd(12),
      isJudged(figure) ? `${describeLimit(figure)}  ${isWithin(figure) ? "ok" : "MISSED"}` : "",
    ];
    console.log(`  ${columns.join(" ")}`);
  }
  console.log(`BENCH ${JSON.stringify({ benchmark, figures })}`);
}

function describeLimit({ unit, limit, atLeast }: Figure): string {
  return limit === undefined ? `at least ${atLeast} ${unit}` : `limit ${limit} ${unit}`;
}
