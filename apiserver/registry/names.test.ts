import { expect, test } from "vitest";
import { cursorToName, namePageQuery, nameToCursor } from "./names.ts";

test.each(["web", "team/web.api_v1", "V1.4-rc"])(
  "the cursor after %s stands for it, and is one of the contract",
  (name) => {
    const cursor = nameToCursor(name);
    expect(cursorToName(cursor)).toBe(name);
    expect(namePageQuery.parse({ cursor }).cursor).toBe(cursor);
  },
);

test("a cursor that no page gave reaches the registry as characters of a name alone", () => {
  expect(cursorToName(Buffer.from("web\u0000?n=1").toString("base64url"))).toBe("web");
  expect(cursorToName("____")).toBe("");
});

test.each(["", "a b", "ü", "a/b"])("%j is no cursor", (cursor) => {
  expect(namePageQuery.safeParse({ cursor }).success).toBe(false);
});
