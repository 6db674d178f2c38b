import { expect, test } from "vitest";
import { sendTogether } from "./send-together.ts";

const failing = async (message: string, steps = 0): Promise<never> => {
  for (let step = 0; step < steps; step += 1) await Promise.resolve();
  throw new Error(message);
};

test("results come in the order in which the statements were sent", async () => {
  const late = Promise.resolve("first").then((text) => Promise.resolve(text));
  expect(await sendTogether(late, Promise.resolve(2))).toEqual(["first", 2]);
});

test.each([
  ["the later one is told first", () => sendTogether(failing("cause", 9), failing("refused"))],
  ["only the earlier one fails", () => sendTogether(failing("cause"), Promise.resolve(1))],
  ["only the later one fails", () => sendTogether(Promise.resolve(1), failing("cause"))],
])("the error is that of the first that failed: %s", async (_case, send) => {
  await expect(send()).rejects.toThrow("cause");
});
