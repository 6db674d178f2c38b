import { expect, test } from "vitest";
import { onAbort } from "./exchange.ts";

test("a signal calls back all that have not been undone, each once", () => {
  const controller = new AbortController();
  const called: string[] = [];
  onAbort(controller.signal, () => called.push("first"));
  const undo = onAbort(controller.signal, () => called.push("undone"));
  onAbort(controller.signal, () => called.push("third"));
  undo();
  controller.abort();
  controller.abort();
  expect(called).toEqual(["first", "third"]);
});
