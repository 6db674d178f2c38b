import { describe, expect, test } from "vitest";
import { isLabelKey, isLabelValue, labelsSchema } from "./labels.ts";

const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, "x"]));
/** A domain of so many characters. */
const domainOf = (length: number) =>
  `${"a".repeat(63)}.`
    .repeat(5)
    .slice(0, length - 1)
    .concat("b");

// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
describe("as Kubernetes takes it", () => {
  test.each<[boolean, string, string]>([
    [true, "a character", "a"],
    [true, "63 characters", "a".repeat(63)],
    [false, "64 characters", "a".repeat(64)],
    [true, "all that a name may have", "A-b_c.9"],
    [true, "a domain", "example.com/a"],
    [true, "a domain of 253 characters", `${domainOf(253)}/${"a".repeat(63)}`],
    [false, "a domain of 254 characters", `${domainOf(254)}/a`],
    [false, "a domain in upper case", "Example.com/a"],
    [false, "a domain without a name", "example.com/"],
    [false, "a name without its domain", "/a"],
    [false, "two domains", "a.b/c/d"],
    [false, "nothing", ""],
    [false, "a dash at its start", "-a"],
    [false, "a dot at its end", "a."],
    [false, "a newline at its end", "a\n"],
    [false, "a NUL", "a\u0000"],
    [false, "a letter that is none of ASCII", "ä"],
    [false, "half a surrogate pair", "\ud800"],
    [false, "markup", "<script>"],
    [true, "what JavaScript knows of every object", "constructor"],
    [false, "the prototype", "__proto__"],
  ])("it is %s that a key has %s", (expected, _, key) => {
    expect(isLabelKey(key)).toBe(expected);
  });

  test.each<[boolean, string, string]>([
    [true, "nothing", ""],
    [true, "63 characters", "a".repeat(63)],
    [false, "64 characters", "a".repeat(64)],
    [true, "all that it may have", "A-b_c.9"],
    [false, "a dash at its end", "a-"],
    [false, "a space", "a b"],
    [false, "a newline at its end", "a\n"],
    [false, "a NUL", "\u0000"],
    [false, "a slash", "a/b"],
    [false, "an emoji", "🙂"],
    [false, "a formula", "=1+1"],
  ])("it is %s that a value has %s", (expected, _, value) => {
    expect(isLabelValue(value)).toBe(expected);
  });
});

test.each<[string, unknown, string | undefined]>([
  ["none", {}, undefined],
  ["32", entries(32), undefined],
  ["33", entries(33), "must have at most 32 entries"],
  ["100,000", entries(100_000), "must have at most 32 entries"],
  ["a domain that only ends as a reserved one", { "notkubernetes.io/a": "" }, undefined],
  ["a key of kubernetes.io", { "kubernetes.io/a": "" }, "reserved"],
  ["a key below k8s.io", { "x.y.k8s.io/a": "" }, "reserved"],
  ["a key of Cluster API", { "cluster.x-k8s.io/a": "" }, "reserved"],
  ["a key of the platform", { "x.cloud.marina.dev/a": "" }, "reserved"],
  ["a key that is long", { ["a".repeat(1_000_000)]: "" }, "must have keys that are names"],
  ["a value that is long", { a: "a".repeat(1_000_000) }, "must be at most 63 letters"],
  ["a value that is a number", { a: 1 }, ""],
  ["null", { a: null }, ""],
  ["a list", ["a"], ""],
])("labels: %s", (_, labels, message) => {
  const { success, error } = labelsSchema.safeParse(labels);
  expect(success).toBe(message === undefined);
  expect(error?.issues[0]?.message ?? "").toContain(message ?? "");
});
