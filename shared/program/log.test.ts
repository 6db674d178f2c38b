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
  ["by itself", "createLogger", ""],
  ["by process.exit()", "createLogger", "process.exit()"],
  ["by itself, with a buffered output,", "createBufferedLogger", ""],
  ["by process.exit(), with a buffered output,", "createBufferedLogger", "process.exit()"],
  [
    "by an error, with a buffered output,",
    "createBufferedLogger",
    "process.on('uncaughtException', () => process.exit()); throw new Error()",
  ],
])("a process that ends %s loses no line", (_how, create, end) => {
  expect(runLogger(create, `for (let n = 0; n < 1000; n++) log.info({ n }, "line"); ${end}`)).toHaveLength(
    1000,
  );
});

test("at most 4 MiB of lines wait for standard output, and a line says how many were dropped", () => {
  const lines = runLogger(
    "createBufferedLogger",
    'for (let n = 0; n < 8192; n++) log.info("x".repeat(1024));',
  );
  const kept = lines.slice(0, -1);
  expect(Buffer.byteLength(kept.join("\n"))).toBeLessThan(4 * 1024 ** 2);
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ level: "warn", lines: 8192 - kept.length });
});

/** Runs a process with a logger, and returns the lines of its standard output. */
function runLogger(create: string, statements: string): string[] {
  const program = `import { ${create} } from ${JSON.stringify(join(import.meta.dirname, "log.ts"))};
    const log = ${create}({ name: "x", level: "info" });
    ${statements}`;
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 ** 2,
  });
  return output.trim().split("\n");
}

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
