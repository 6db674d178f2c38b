/** One figure of a benchmark, with the limit that it must keep. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** The highest value that passes. */
  limit?: number;
  /** The lowest value that passes. */
  atLeast?: number;
}

/** Prints a table, and one machine-readable line that begins with `BENCH `. */
export function report(benchmark: string, figures: readonly Figure[]): void {
  console.log(`\n${benchmark}`);
  for (const figure of figures) {
    const { name, value, unit } = figure;
    console.log(`  ${name.padEnd(52)} ${value.toFixed(2).padStart(9)} ${unit.padEnd(4)} ${judge(figure)}`);
  }
  console.log(`BENCH ${JSON.stringify({ benchmark, figures })}`);
}

function judge({ value, unit, limit, atLeast }: Figure): string {
  if (limit !== undefined) return `limit ${limit} ${unit}  ${value <= limit ? "ok" : "OVER"}`;
  if (atLeast !== undefined) return `at least ${atLeast} ${unit}  ${value >= atLeast ? "ok" : "UNDER"}`;
  return "";
}
