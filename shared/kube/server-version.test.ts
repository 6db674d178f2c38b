import { expect, test } from "vitest";
import { createLogger } from "../program/log.ts";
import type { TransportResponse } from "./call.ts";
import { requireServerVersion } from "./server-version.ts";

const log = createLogger({ name: "test", level: "fatal" });
const answer = (response: Partial<TransportResponse>) => ({
  request: async () => ({ status: 200, headers: {}, body: {}, ...response }),
});

test.each([
  ["1", "33"],
  ["1", "36+"],
  ["2", "0"],
])("Kubernetes %s.%s is supported", async (major, minor) => {
  await expect(requireServerVersion(answer({ body: { major, minor } }), log)).resolves.toBeUndefined();
});

test("an older Kubernetes is refused in one sentence that says what to do", async () => {
  await expect(requireServerVersion(answer({ body: { major: "1", minor: "32+" } }), log)).rejects.toThrow(
    "The management cluster runs Kubernetes 1.32, and this program needs 1.33 or newer: upgrade the management cluster first.",
  );
});

test("a server that does not give its version stops no start", async () => {
  await expect(requireServerVersion(answer({ status: 403 }), log)).resolves.toBeUndefined();
});
