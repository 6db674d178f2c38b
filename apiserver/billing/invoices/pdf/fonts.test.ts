import { expect, test } from "vitest";
import { readFont } from "./page.ts";

const { toWritable } = readFont("DejaVuSans");

test.each(["Ærøskøbing, Łódź, Ծովակալ", "Αθήνα, София, Reykjavík", "مرحبا שלום", "10 € – 20 %"])(
  "%s is written as it is",
  (text) => {
    expect(toWritable(text)).toBe(text);
  },
);

test.each([
  ["日本", "\uFFFD\uFFFD"],
  ["a\u0000\n\tb", "a\uFFFD\uFFFD\uFFFDb"],
  ["\uD800x\uDC00", "\uFFFDx\uFFFD"],
  ["👩‍💻", "\uFFFD\u200D\uFFFD"],
])("of %j what the font lacks is replaced, one by one", (text, written) => {
  expect(toWritable(text)).toBe(written);
});
