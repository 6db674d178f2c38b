/** One figure of a benchmark, with the limit it is held against. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** Absent for a figure that is only told. */
  limit?: number;
}

/** Prints a table for people and one line for programs, which begins with `BENCH `. */
export function report(benchmark: string, figures: readonly Figure[]): void {
  console.log(`\n${benchmark}`);
  for (const { name, value, unit, limit } of figures) {
    const verdict = limit === undefined ? "" : `limit ${limit} ${unit}  ${value <= limit ? "ok" : "OVER"}`;
    console.log(`  ${name.padEnd(52)} ${value.toFixed(2).padStart(9)} ${unit.padEnd(4)} ${verdict}`);
  }
  console.log(`BENCH ${JSON.stringify({ benchmark, figures })}`);
}

/** The middle value; of an even count, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
