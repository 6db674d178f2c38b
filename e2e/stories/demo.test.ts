import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../platform/stack/marina.ts";
import { readStack } from "../platform/stack/testing.ts";
import { createTenant } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);

test("a demonstration that is interrupted leaves neither its organization nor its cluster", async () => {
  const folder = mkdtempSync(join(tmpdir(), "marina-demo-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, ".marina"));
  writeFileSync(join(folder, ".marina", "stack.json"), JSON.stringify(stack));
  const demo = spawn(process.execPath, [join(ROOT, "e2e/demo.ts")], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void demo.kill("SIGKILL"));
  const ended = once(demo, "exit");
  let orgID = "";
  for await (const line of createInterface({ input: demo.stdout })) {
    orgID ||= /organization created .* (\S+)$/.exec(line)?.[1] ?? "";
    if (line.includes("cluster accepted")) demo.kill("SIGINT");
  }
  expect(await ended).toEqual([130, null]);
  expect(orgID).not.toBe("");
  expect((await alice.call("getOrganization", { orgID })).status).toBe(404);
});
