import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { hangLimits } from "../../../vitest.config.ts";

/** Invoices judged by a validator that is not ours: `npm run test:invoices`. It needs Java 17 and Maven. */
export default defineConfig({
  root: join(import.meta.dirname, "..", "..", ".."),
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    include: ["apiserver/billing/invoices/testing/validation.ts"],
    ...hangLimits,
  },
});
