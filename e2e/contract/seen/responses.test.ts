import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { places } from "../openapi/document.ts";
import { readSeen } from "./seen.ts";

/** Declared, but returned in no test, with the reason. */
const NOT_SEEN: Record<string, string> = {};

/** Answered to a body that does not arrive in time, which `server.test.ts` waits for once: the same code reads every body. */
const STATUS_OF_SLOW_BODIES = "408";

const root = join(import.meta.dirname, "..", "..", "..");
const TESTS = ["apiserver/**/*.{int,long}.test.ts", "e2e/stories/**/*.test.ts"];
const EXTENDED = ["**/*.extended.test.ts"];

test("the tests have received every status that the document declares of every operation", (context) => {
  const begun = readSeen("file");
  const left = globSync(TESTS, { cwd: root, exclude: EXTENDED }).filter(
    (file) => !begun.has(join(root, file)),
  );
  context.skip(left.length > 0, `only a part of the tests ran: ${left.length} files did not`);

  const seen = readSeen("response");
  const declared = places.flatMap(({ operation }) =>
    Object.keys(operation.responses)
      .filter((status) => status !== STATUS_OF_SLOW_BODIES)
      .map((status) => `${operation.operationId} ${status}`),
  );
  expect(declared.filter((pair) => !seen.has(pair) && NOT_SEEN[pair] === undefined)).toEqual([]);
  expect(Object.keys(NOT_SEEN).filter((pair) => !declared.includes(pair) || seen.has(pair))).toEqual([]);
});
