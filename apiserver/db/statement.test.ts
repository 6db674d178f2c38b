import { expect, test } from "vitest";
import { sendTogether, toStorable } from "./statement.ts";

const failing = async (message: string, steps = 0): Promise<never> => {
  for (let step = 0; step < steps; step += 1) await Promise.resolve();
  throw new Error(message);
};

test("results come in the order in which the statements were sent", async () => {
  const late = Promise.resolve("first").then((text) => Promise.resolve(text));
  expect(await sendTogether(late, Promise.resolve(2))).toEqual(["first", 2]);
});

test.each([
  ["the later one is reported first", () => sendTogether(failing("cause", 9), failing("refused"))],
  ["only the earlier one fails", () => sendTogether(failing("cause"), Promise.resolve(1))],
  ["only the later one fails", () => sendTogether(Promise.resolve(1), failing("cause"))],
])("the error is that of the first that failed: %s", async (_case, send) => {
  await expect(send()).rejects.toThrow("cause");
});

test("a NUL in any string, also in a name, is replaced", () => {
  expect(toStorable({ a: "x\0y", list: ["\0"], inner: { "k\0": 1 } })).toEqual({
    a: "x\uFFFDy",
    list: ["\uFFFD"],
    inner: { "k\uFFFD": 1 },
  });
});

test("a value without NUL is returned itself, whatever it is made of", () => {
  const value = { text: "\\u0000", none: null, n: 1, when: undefined, list: [true] };
  expect(toStorable(value)).toBe(value);
});
