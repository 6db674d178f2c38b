import { benchLedger } from "./ledger.ts";

const parts: Record<string, () => Promise<void>> = {
  ledger: benchLedger,
};

/** The benchmarks of billing: the named parts, or all of them. */
export async function benchBilling(names: readonly string[] = []): Promise<void> {
  for (const name of names.length === 0 ? Object.keys(parts) : names) {
    const run = parts[name];
    if (run === undefined)
      throw new Error(`billing has no benchmark "${name}"; there are: ${Object.keys(parts).join(", ")}`);
    await run();
  }
}
