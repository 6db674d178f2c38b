import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { readStack, waitFor, waitForObjectStore, waitForRegistry } from "../platform/stack/testing.ts";

const stack = readStack();
const PAGES = join(import.meta.dirname, "..", "..", "docs", "tenants");
const MARK = "<!-- run by e2e/stories/documented-commands.test.ts -->";
const COMMANDS_TIMEOUT_MS = 800_000;
const folder = mkdtempSync(join(tmpdir(), "marina-commands-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The command blocks of a page that are marked as run by this test. */
function readCommands(page: string): string[] {
  const text = readFileSync(join(PAGES, page), "utf8").replaceAll("https://api.example.com", stack.apiUrl);
  return text
    .split(`${MARK}\n\`\`\`sh\n`)
    .slice(1)
    .map((rest) => rest.split("\n```", 1)[0] ?? "");
}

/** All in one shell, which a command that fails ends, as does `signal`; the output of all. */
async function runCommands(blocks: readonly string[], signal: AbortSignal): Promise<string> {
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", blocks.join("\n")], {
    cwd: folder,
    env: {
      PATH: `${dirname(stack.kubectl)}:${process.env.PATH}`,
      HOME: folder,
      TOKEN: stack.tokens.alice,
    },
    maxBuffer: 2 ** 24,
    timeout: COMMANDS_TIMEOUT_MS,
    signal,
    // A loop that polls for what was refused ends by nothing else.
    killSignal: "SIGKILL",
  });
  return stdout;
}

test("the commands of the pages for tenants work one after another, in one shell", {
  timeout: 900_000,
}, async ({ signal }) => {
  await Promise.all([
    waitForObjectStore(),
    waitForRegistry(),
    waitFor("kubectl to be built", () => existsSync(stack.kubectl)),
  ]);
  const first = readCommands("first-cluster.md");
  const others = ["clients.md", "registry.md", "storage.md", "support.md"].map(readCommands);
  expect(others.map(({ length }) => length)).toEqual([3, 1, 1, 2]);
  const output = await runCommands([...first.slice(0, -1), ...others.flat(), ...first.slice(-1)], signal);

  expect(output).not.toMatch(/"error"|parse error/);
  const { effects, nodes } = { effects: /"monthly_eur_max"/, nodes: /^\S*web\S* +Ready/m };
  expect(output).toMatch(effects);
  expect(output).toMatch(nodes);
  expect(output).toMatch(/^shop$/m);
  expect(output).toContain("secret/marina-registry created");
  expect(output).toContain('"effective_gb"');
  expect(output).toMatch(/"status": "open",\s+"respond_by": "20/);
  expect(output).toContain("The log of the kubelet.");
  expect(output).toContain('"deleting"');
});
