import { expect, test } from "vitest";
import { aPool, makeMachine } from "./testing.ts";

test("a machine whose MachineSet is not seen yet is neither up to date nor listed as outdated", () => {
  const machines = [{ ...makeMachine("a"), outdated: undefined }, makeMachine("b")];
  const pool = aPool().withNodes(2).with({ machines });
  expect(pool.condition("UpToDate")).toMatchObject({ status: "False" });
  expect(pool.plan().status?.machines?.map(({ outdated }) => outdated)).toEqual([undefined, undefined]);
});

test("a machine of another template is listed as outdated, and no other one", () => {
  const machines = [makeMachine("a", {}, { isOfOtherTemplate: true }), makeMachine("b")];
  const listed = aPool().withNodes(2).with({ machines }).plan().status?.machines;
  expect(listed?.map(({ outdated }) => outdated)).toEqual([true, undefined]);
});
