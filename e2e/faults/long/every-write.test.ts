import { afterAll, beforeAll, expect, test } from "vitest";
import { type BareStack, startBareStack } from "../bare-stack.ts";
import { type Keeper, type Life, liveMortally } from "../mortal-life.ts";

/** To go on where a run was stopped. */
const FIRST = Number(process.env.FIRST_WRITE ?? 1);

let world: BareStack;
let keeper: Keeper;

beforeAll(async () => {
  world = await startBareStack(".marina/bare");
  keeper = { operator: await world.startOperator() };
});

afterAll(() => world?.stop());

test.each(["heard", "lost"] as const)(
  "an operator may be killed after any single write of a cluster's life, its response %s",
  async (response) => {
    let deaths = 0;
    let life: Life;
    let atWrite = FIRST;
    do {
      life = await liveMortally(world, keeper, { atWrite, response });
      const { died, writes } = life;
      deaths += died.length;
      console.log(
        `write ${atWrite}, response ${response}: died in ${died.join(", ")}; ${JSON.stringify(writes)}`,
      );
      atWrite += 1;
    } while (life.died.length > 0);
    console.log(`${deaths} deaths, response ${response}`);
    expect(atWrite).toBeGreaterThan(10);
  },
);
