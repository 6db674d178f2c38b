import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..", "..");

test.each([
  ["npm start", "e2e/platform/stack/start.ts", "--fresh"],
  ["npm run release", "release.ts", "--registry"],
])(
  "%s with an option that it does not have says so, names those that it has, and ends with 2",
  (_name, program, option) => {
    const { status, stderr } = spawnSync(process.execPath, [program, "--no-such"], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect(stderr).toMatch(/^Unknown option '--no-such'\. The options are --/);
    expect(stderr).toContain(option);
    expect(status).toBe(2);
  },
);
