import { expect, test } from "vitest";
import { createLogger } from "./log.ts";

test("values under a secret's name never reach the log", () => {
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
