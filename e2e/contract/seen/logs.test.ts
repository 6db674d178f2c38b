import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readStack } from "../../platform/stack/testing.ts";
import { findLeaks, findSecrets } from "./secrets.ts";
import { findSeenFolder, readSeen } from "./seen.ts";

test("no log contains a secret that was used or issued", () => {
  const stack = readStack();
  const kept = readFileSync(join(dirname(stack.logs), "secrets.json"), "utf8");
  const passwords = Object.values<unknown>(JSON.parse(kept)).filter((value) => typeof value === "string");
  const secrets = new Set([
    ...passwords,
    ...findSecrets(JSON.stringify(stack)),
    ...[stack.kubeconfig, ...Object.values(stack.programKubeconfigs)].flatMap((file) =>
      findSecrets(readFileSync(file, "utf8")),
    ),
    ...readSeen("secret"),
  ]);
  const folders = [stack.logs, findSeenFolder() ?? ""];
  const files = folders.flatMap((folder) =>
    globSync("**/*.log", { cwd: folder }).map((f) => join(folder, f)),
  );
  const leaks = files.flatMap((file) =>
    findLeaks(readFileSync(file, "utf8"), secrets).map((line) => `${file}: ${line.slice(0, 500)}`),
  );
  expect(leaks).toEqual([]);
  expect(secrets.size).toBeGreaterThan(passwords.length);
  expect(files.length).toBeGreaterThan(5);
});
