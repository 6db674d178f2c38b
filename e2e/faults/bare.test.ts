import { afterAll, beforeAll, expect, test } from "vitest";
import { type BareStack, startBareStack } from "./bare-stack.ts";
import { type Keeper, liveMortally } from "./mortal-life.ts";

let world: BareStack;
let keeper: Keeper;

beforeAll(async () => {
  world = await startBareStack(".marina/faults");
  keeper = { operator: await world.startOperator() };
}, 300_000);

afterAll(() => world?.stop());

test("an operator that is killed after a write leaves nothing lost and nothing doubled", async () => {
  for (const atWrite of [1000, 1, 2, 3]) {
    const from = performance.now();
    const life = await liveMortally(world, keeper, { atWrite, answer: "heard" });
    console.log(atWrite, JSON.stringify(life), performance.now() - from);
  }
  for (const atWrite of [1, 2, 3]) {
    const from = performance.now();
    const life = await liveMortally(world, keeper, { atWrite, answer: "lost" });
    console.log("lost", atWrite, JSON.stringify(life), performance.now() - from);
  }
  expect(1).toBe(1);
});
