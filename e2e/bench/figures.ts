import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

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

/** The part of a limit by which a short run may miss it: it is less exact than a full one. */
const TOLERANCE = 1 / 3;

const ATTEMPTS = 3;

const FILE = join(import.meta.dirname, "figures.json");

/** By benchmark, and by the name and unit of a figure. */
type KeptFigures = Record<string, Record<string, number>>;

/** The figures of a benchmark that were kept last, by what `keyOf` says of each. */
export function readKept(benchmark: string): Readonly<Record<string, number>> {
  return readFile()[benchmark] ?? {};
}

/** Keeps the ratios and the figures with a limit: what says something on another machine, or has to hold there. */
export function keepFigures(benchmark: string, figures: readonly Figure[]): void {
  const kept = figures.filter((figure) => isJudged(figure) || figure.unit === "x");
  const values = Object.fromEntries(
    kept.map((figure) => [keyOf(figure), Number(figure.value.toPrecision(3))]),
  );
  const all = Object.entries({ ...readFile(), [benchmark]: values }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(all), undefined, 2)}\n`);
}

/** Names a figure within its benchmark. */
export function keyOf({ name, unit }: Pick<Figure, "name" | "unit">): string {
  return unit === "" ? name : `${name}, ${unit}`;
}

/** Whether it has a limit. */
export function isJudged({ limit, atLeast }: Figure): boolean {
  return limit !== undefined || atLeast !== undefined;
}

/** Whether it keeps its limit. */
export function isWithin({ value, limit = Infinity, atLeast = -Infinity }: Figure): boolean {
  return value <= limit && value >= atLeast;
}

/** Whether it misses its limit by no more than a third of it. */
export function isNearlyWithin({ value, limit = Infinity, atLeast = -Infinity }: Figure): boolean {
  return value <= limit * (1 + TOLERANCE) && value >= atLeast / (1 + TOLERANCE);
}

/** The figures that miss their limit, or the one that was kept last where that misses the limit, by more than a third. */
export function findMissed(
  figures: readonly Figure[],
  kept: Readonly<Record<string, number>>,
): readonly Figure[] {
  return figures
    .map((figure) => boundByKept(figure, kept[keyOf(figure)]))
    .filter((figure) => !isNearlyWithin(figure));
}

/**
 * Measures again while a figure is missed, three times in all: other work on the machine raises a ratio for minutes, a
 * regression misses each time. Returns the last figures.
 */
export async function measureUntilWithin(
  kept: Readonly<Record<string, number>>,
  measure: () => Promise<readonly Figure[]>,
): Promise<readonly Figure[]> {
  for (let attempt = 1; ; attempt++) {
    const figures = await measure();
    if (attempt === ATTEMPTS || findMissed(figures, kept).length === 0) return figures;
  }
}

/**
 * The figure with the one kept last as its limit where that misses the limit: then it must at least not become worse.
 */
export function boundByKept(figure: Figure, kept: number | undefined): Figure {
  const { limit, atLeast } = figure;
  if (kept === undefined) return figure;
  if (limit !== undefined) return { ...figure, limit: Math.max(limit, kept) };
  return atLeast === undefined ? figure : { ...figure, atLeast: Math.min(atLeast, kept) };
}

function readFile(): KeptFigures {
  return existsSync(FILE) ? JSON.parse(readFileSync(FILE, "utf8")) : {};
}
