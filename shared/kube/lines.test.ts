import { expect, test } from "vitest";
import { readLines } from "./call.ts";

async function* streamOf(...parts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === "string" ? new TextEncoder().encode(part) : part;
}

const neverIdle = () => expect.unreachable();

test.each([
  ["a line that arrives in parts", ['{"a"', ": 1}\n"], ['{"a": 1}']],
  ["several lines of one part", ["a\nb\n"], ["a", "b"]],
  ["a last line without newline", ["a\nb"], ["a", "b"]],
  ["no line for an empty one", ["a\n\n\nb\n"], ["a", "b"]],
  ["a character whose bytes are divided", [new Uint8Array([0xc3]), new Uint8Array([0xa4, 10])], ["ä"]],
])("a stream has %s", async (_, parts, lines) => {
  const read: string[] = [];
  for await (const line of readLines(streamOf(...parts), 60_000, neverIdle)) read.push(line);
  expect(read).toEqual(lines);
});

test("a stream from which no byte arrives in time is ended by its reader", async () => {
  const { promise: ended, reject } = Promise.withResolvers<IteratorResult<Uint8Array>>();
  const silent = { [Symbol.asyncIterator]: () => ({ next: () => ended }) };
  const lines = readLines(silent, 1, () => reject(new Error("idle")));
  await expect(lines.next()).rejects.toThrow("idle");
});

test("a line that is longer than a reader takes ends its stream, before it is complete", async () => {
  async function* endless() {
    for (;;) yield new TextEncoder().encode("a".repeat(10));
  }
  const lines = readLines(endless(), 60_000, neverIdle, { maxLength: 100 });
  await expect(lines.next()).rejects.toMatchObject({ name: "KubeError", reason: "TooLarge" });
});

test.each([
  ["lines", "a\n"],
  ["empty lines", "\n"],
])("more %s than a reader takes end their stream", async (_name, line) => {
  const read = async (count: number) => {
    for await (const one of readLines(streamOf(line.repeat(3), line.repeat(count)), 60_000, neverIdle, {
      maxLines: 5,
    }))
      expect(one).toBe("a");
  };
  await read(2);
  await expect(read(3)).rejects.toMatchObject({ name: "KubeError", reason: "TooLarge" });
});
