import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { hangLimits } from "../../../vitest.config.ts";

/** A real Keycloak and the API on a stack: `npm run test:identity`. It needs Java 17 and Maven. */
export default defineConfig({
  root: join(import.meta.dirname, "..", "..", ".."),
  test: {
    reporters: ["default", "./e2e/checks/test-report/vitest-reporter.ts"],
    include: ["apiserver/http/authentication/testing/keycloak.ts"],
    globalSetup: ["e2e/platform/stack/vitest-global-setup.ts"],
    ...hangLimits,
  },
});
