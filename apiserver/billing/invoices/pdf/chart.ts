import type { ChartSeries } from "./content.ts";

/** A rectangle of a chart: one resource type on one day. `y` grows downwards. */
export interface Bar {
  series: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Frame {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** How much of a day's width is its bar. */
export const BAR_SHARE = 0.75;

/**
 * Stacked bars, one stack for each day, of which the highest one fills the frame. What is below 0 has no height.
 * @returns the bars, and what the top of the frame stands for, in cents
 */
export function layOutBars(
  series: readonly Pick<ChartSeries, "cents">[],
  frame: Frame,
): { bars: Bar[]; topCents: number } {
  const days = series[0]?.cents.length ?? 0;
  const heights = series.map(({ cents }) => cents.map((amount) => Math.max(0, amount)));
  const sums = Array.from({ length: days }, (_, day) =>
    heights.reduce((sum, own) => sum + (own[day] ?? 0), 0),
  );
  const topCents = Math.max(0, ...sums);
  if (topCents === 0) return { bars: [], topCents };
  const dayWidth = frame.width / days;
  const bars = sums.flatMap((_, day) => {
    let y = frame.y + frame.height;
    return heights.flatMap((own, index) => {
      const height = ((own[day] ?? 0) / topCents) * frame.height;
      if (height === 0) return [];
      y -= height;
      return [{ series: index, x: frame.x + day * dayWidth, y, width: dayWidth * BAR_SHARE, height }];
    });
  });
  return { bars, topCents };
}
