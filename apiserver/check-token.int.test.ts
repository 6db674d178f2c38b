import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { cleanEnvironment } from "../e2e/platform/programs/environment.ts";
import { DIST } from "../e2e/platform/stack/marina.ts";
import { readPartEnvironment } from "../e2e/platform/stack/part-environment.ts";
import { readStack } from "../e2e/platform/stack/testing.ts";

/**
 * Runs `apiserver check-token` with the environment of the stack's API server, changed, and a token on standard input.
 */
async function checkToken(token: string, changes: Record<string, string> = {}) {
  const child = spawn(process.execPath, [join(DIST, "apiserver.js"), "check-token"], {
    env: cleanEnvironment({ ...readPartEnvironment("apiserver"), ...changes }),
  });
  child.stdin.end(token);
  const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { output, errors, status: await exited };
}

test("the API server's program checks a token with its own configuration, keys and database", async () => {
  const { tokens } = readStack();
  const { output, errors, status } = await checkToken(tokens.staff);
  expect(errors).toBe("");
  expect(output).toMatch(/^iss: .+ accepted\nkid: .+\naud: "marina" accepted\n/);
  expect(output).toMatch(
    /\nrealm_access > roles: \["platform-admin"\] staff \(platform-admin\)\ngroups: \[\] none is mapped.+\nACCEPTED\n$/,
  );
  expect(status).toBe(0);
  for (const part of tokens.staff.split(".")) expect(output).not.toContain(part);
});

test("a token that is refused makes its exit code 1", async () => {
  const { output, status } = await checkToken(`${readStack().tokens.alice}x`);
  expect(output).toMatch(/\nREFUSED: .+\n$/);
  expect(status).toBe(1);
});

test("without a database that answers it says so and checks the rest", async () => {
  const { output, status } = await checkToken(readStack().tokens.alice, {
    MARINA_DATABASE_URL: "postgres://nobody:guess-5@127.0.0.1:1/none",
  });
  expect(output).toMatch(
    /^The database is not used \(.*ECONNREFUSED.*\): ids are as a new installation makes them, and groups as the configuration maps them\.\n/,
  );
  expect(output).toMatch(/\nACCEPTED\n$/);
  expect(output).not.toContain("guess-5");
  expect(status).toBe(0);
});

test("a configuration that is invalid is reported by variable", async () => {
  const { errors, status } = await checkToken("x", { MARINA_OIDC_ISSUERS: '[{"issuer": "https://a.test"}]' });
  expect(errors).toContain("MARINA_OIDC_ISSUERS.0.audience");
  expect(status).toBe(1);
});
