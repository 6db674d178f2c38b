import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { hangLimits } from "../../../vitest.config.ts";

/**
 * Charges in the columns of FOCUS 1.0, judged by its official validator: `npm run test:focus`. It needs Python 3.11.
 */
export default defineConfig({
  root: join(import.meta.dirname, "..", "..", ".."),
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    include: ["apiserver/billing/invoices/testing/focus-validation.ts"],
    ...hangLimits,
  },
});
