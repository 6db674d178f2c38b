import { expect, test } from "vitest";
import { canonicalJson } from "./run-once.ts";

test.each([
  ['{"a":1,"b":{"c":[1,{"x":1,"y":2}]}}', ' { "b" : {"c":[1.0, {"y":2,"x":1}]}, "a":1e0 } '],
  ['{"a":"\\u0041"}', '{"a":"A"}'],
  ['{"__proto__":1,"a":2}', '{"a":2,"__proto__":1}'],
])("%s has the text of its equal %s", (one, other) => {
  expect(canonicalJson(JSON.parse(one))).toBe(canonicalJson(JSON.parse(other)));
});

test.each([
  ["[1,2]", "[2,1]"],
  ['{"a":null}', "{}"],
  ['{"a":1}', '{"a":"1"}'],
  ['{"__proto__":1}', '{"__proto__":2}'],
])("%s has another text than %s", (one, other) => {
  expect(canonicalJson(JSON.parse(one))).not.toBe(canonicalJson(JSON.parse(other)));
});
