import { expect, test } from "vitest";
import { z } from "zod";
import { describeUnknownVariables, parseEnvironment, warnOfUnknownVariables } from "./config.ts";

const schema = z
  .object({ MARINA_PUBLIC_URL: z.url(), MARINA_PORT: z.string().optional() })
  .transform((env) => env)
  .and(z.object({ MARINA_WEBHOOK_KEYS: z.string().optional() }));

test.each([
  ["MARINA_PUBLIC_URI", "MARINA_PUBLIC_URL"],
  ["MARINA_PUBLICURL", "MARINA_PUBLIC_URL"],
  ["MARINA_WEBHOOK_KEY", "MARINA_WEBHOOK_KEYS"],
])("%s is refused with %s, which it looks like", (name, nearest) => {
  expect(describeUnknownVariables(schema, { [name]: "x" })).toEqual([
    `${name} is no setting of this program; did you mean \`${nearest}\`?`,
  ]);
});

test.each([
  "MARINA_PORT",
  "MARINA_PORT_8080_TCP_ADDR",
  "MARINA_SERVICE_PORT",
  "MARINA_STORAGE_INTERVAL_SECONDS",
  "PUBLIC_URL",
])("%s is not told: it is known, comes from Kubernetes, is like no setting, or is not Marina's", (name) => {
  expect(describeUnknownVariables(schema, { [name]: "x" })).toEqual([]);
});

test("a configuration that is invalid names the variable that was misspelled", () => {
  expect(() => parseEnvironment(schema, { MARINA_PUBLIC_URI: "https://api.example.com" })).toThrow(
    /MARINA_PUBLIC_URL: .*\n {2}MARINA_PUBLIC_URI is no setting .* did you mean `MARINA_PUBLIC_URL`\?$/,
  );
});

test("a program says at its start what has no effect, and nothing where all is known", () => {
  const lines: unknown[] = [];
  const log = { warn: (...line: unknown[]) => void lines.push(line) };
  warnOfUnknownVariables(log, schema, { MARINA_PUBLIC_URL: "https://api.example.com" });
  expect(lines).toEqual([]);
  warnOfUnknownVariables(log, schema, { MARINA_PORTT: "1" });
  expect(lines).toEqual([
    [
      { unknown: ["MARINA_PORTT is no setting of this program; did you mean `MARINA_PORT`?"] },
      "variables of the environment have no effect",
    ],
  ]);
});
