import { afterAll, beforeAll, expect, test } from "vitest";
import { type BareStack, startBareStack } from "../bare-stack.ts";
import { type Keeper, type Life, liveMortally } from "../mortal-life.ts";

let world: BareStack;
let keeper: Keeper;

beforeAll(async () => {
  world = await startBareStack(".marina/bare");
  keeper = { operator: await world.startOperator() };
});

afterAll(() => world?.stop());

test.each(["heard", "lost"] as const)(
  "an operator may be killed after any single write of a cluster's life, its answer %s",
  async (answer) => {
    const lives: Life[] = [];
    do {
      lives.push(await liveMortally(world, keeper, { atWrite: lives.length + 1, answer }));
      const { died, writes } = lives.at(-1) ?? { died: [], writes: {} };
      console.log(
        `write ${lives.length}, answer ${answer}: died in ${died.join(", ")}; ${JSON.stringify(writes)}`,
      );
    } while ((lives.at(-1)?.died.length ?? 0) > 0);
    console.log(`${lives.flatMap(({ died }) => died).length} deaths`);
    expect(lives.length).toBeGreaterThan(10);
  },
);
