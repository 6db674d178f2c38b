/** The shortest of these waits; undefined = nothing is waited for. */
export function earliest(waitsMs: readonly (number | undefined)[]): number | undefined {
  const known = waitsMs.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
