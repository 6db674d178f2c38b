import { expect, test } from "vitest";
import { splitTable, visitInOrder, visitInReverse } from "./graph.ts";

const table = [
  { name: "api", after: ["fill", "keys"] },
  { name: "fill", after: ["database"] },
  { name: "keys", after: [] },
  { name: "database", after: [] },
];

test("a node without dependencies starts immediately, any other when its dependencies are done", async () => {
  const log: string[] = [];
  await visitInOrder(table, async ({ name }) => {
    log.push(`+${name}`);
    await Promise.resolve();
    log.push(`-${name}`);
  });
  expect(log.slice(0, 2).toSorted()).toEqual(["+database", "+keys"]);
  expect(log.indexOf("+fill")).toBeGreaterThan(log.indexOf("-database"));
  expect(log.slice(-2)).toEqual(["+api", "-api"]);
});

test("the reverse visits a node when everything that depends on it is done", async () => {
  const log: string[] = [];
  await visitInReverse(table, async ({ name }) => void log.push(name));
  expect(log[0]).toBe("api");
  expect(log.indexOf("fill")).toBeLessThan(log.indexOf("database"));
});

test("a node whose dependency failed is never visited", async () => {
  const log: string[] = [];
  const visit = async ({ name }: { name: string }) => {
    if (name === "database") throw new Error("no disk");
    log.push(name);
  };
  await expect(visitInOrder(table, visit)).rejects.toThrow("no disk");
  expect(log).toEqual(["keys"]);
});

test("a table with an unknown node is refused", async () => {
  await expect(visitInOrder([{ name: "api", after: ["databse"] }], async () => {})).rejects.toThrow(
    "api comes after databse, which is not in the table",
  );
});

const names = (nodes: readonly { name: string }[]) => nodes.map(({ name }) => name);

test.each([
  {
    title: "what the goal needs comes first, also when it is slow",
    slow: ["fill"],
    goal: "api",
    later: [],
  },
  { title: "what is slow and not needed comes later", slow: ["keys"], goal: "fill", later: ["api", "keys"] },
  { title: "what waits for nothing slow comes first", slow: [], goal: "database", later: [] },
  { title: "without the goal nothing comes later", slow: ["database"], goal: "operator", later: [] },
])("of a split table, $title", ({ slow, goal, later }) => {
  const split = splitTable(table, goal, ({ name }) => slow.includes(name));
  expect(names(split.later)).toEqual(later);
  expect(names(split.first)).toEqual(names(table).filter((name) => !later.includes(name)));
});
