import { afterAll, beforeAll, expect, test } from "vitest";
import { type BareStack, startBareStack } from "../bare-stack.ts";
import { type OperatorHolder, type Outcome, runLifecycleWithKills } from "../killable-lifecycle.ts";

/** Continues an interrupted run. */
const FIRST = Number(process.env.FIRST_WRITE ?? 1);

let bare: BareStack;
let holder: OperatorHolder;

beforeAll(async () => {
  bare = await startBareStack(".marina/bare");
  holder = { operator: await bare.startOperator() };
});

afterAll(() => bare?.stop());

test.each(["received", "lost"] as const)(
  "an operator may be killed after any single write of a cluster's lifecycle, its response %s",
  async (response) => {
    let kills = 0;
    let outcome: Outcome;
    let atWrite = FIRST;
    do {
      outcome = await runLifecycleWithKills(bare, holder, { atWrite, response });
      const { killedIn, writes } = outcome;
      kills += killedIn.length;
      console.log(
        `write ${atWrite}, response ${response}: killed in ${killedIn.join(", ")}; ${JSON.stringify(writes)}`,
      );
      atWrite += 1;
    } while (outcome.killedIn.length > 0);
    console.log(`${kills} kills, response ${response}`);
    expect(atWrite).toBeGreaterThan(10);
  },
);
