import { benchAlerts } from "./alerts.ts";
import { benchClose } from "./close.ts";
import { benchLedger } from "./ledger.ts";
import { benchPages } from "./pages.ts";

const parts: Record<string, () => Promise<void>> = {
  ledger: benchLedger,
  pages: benchPages,
  close: benchClose,
  alerts: benchAlerts,
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
