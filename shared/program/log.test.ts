import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLogger, createRepeatedWarning } from "./log.ts";

test("values of secret fields never reach the log", () => {
  const lines: string[] = [];
  const log = createLogger({ name: "x", level: "info", destination: { write: (line) => lines.push(line) } });
  log.info(
    {
      token: "s3cret",
      request: { headers: { authorization: "s3cret" }, kubeconfig: "s3cret" },
      err: Object.assign(new Error("broken"), { password: "s3cret" }),
    },
    "hello",
  );
  log.debug("not shown");
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain("s3cret");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    name: "x",
    level: "info",
    msg: "hello",
    token: "[redacted]",
    err: { message: "broken", password: "[redacted]" },
  });
});

test.each([
  ["by itself", ""],
  ["by process.exit()", "process.exit()"],
])("a process that ends %s loses no line", (_how, end) => {
  const program = `import { createLogger } from ${JSON.stringify(join(import.meta.dirname, "log.ts"))};
    const log = createLogger({ name: "x", level: "info" });
    for (let n = 0; n < 1000; n++) log.info({ n }, "line");
    ${end}`;
  const lines = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
  });
  expect(lines.trim().split("\n")).toHaveLength(1000);
});

test("a sentence is logged at once, then once a minute, and another one at once", () => {
  const logged: string[] = [];
  let nowMs = 0;
  const warn = createRepeatedWarning({ warn: (text: string) => void logged.push(text) }, () => nowMs);
  for (let second = 0; second <= 120; second++) {
    nowMs = second * 1000;
    warn(second < 90 ? "first" : "second");
  }
  expect(logged).toEqual(["first", "first", "second"]);
});
