/**
 * A number with its noun: "1 node", "3 nodes". `plural` is only needed for a noun whose plural is not its own plus "s".
 */
export function count(amount: number, noun: string, plural = `${noun}s`): string {
  return `${amount} ${amount === 1 ? noun : plural}`;
}
