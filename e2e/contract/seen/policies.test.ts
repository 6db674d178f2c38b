import { expect, test } from "vitest";
import { GROUP } from "../../../shared/crd/names.ts";
import { openWorld } from "../../../shared/crd/reserved/testing.ts";
import { attempt, make, merge, type World } from "../../../shared/crd/reserved/testing-attempts.ts";
import { kubectl } from "../../platform/stack/testing.ts";

const CHECKS = "apiserver_validating_admission_policy_check_duration_seconds";
const WRITES = "apiserver_request_duration_seconds";
const DECISIONS = "apiserver_authorization_decisions_total";

const REQUESTS = 50;
const ROUNDS = 5;

async function readMetrics(): Promise<string> {
  return (await kubectl(["get", "--raw", "/metrics"])).stdout;
}

/** The sum of a metric over all series whose labels match. */
function sumOf(metrics: string, name: string, labels: RegExp): number {
  const series = metrics.split("\n").filter((line) => line.startsWith(`${name}{`) && labels.test(line));
  return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

/** The mean of a check in ms. */
function meanOf(metrics: string, policies: RegExp): number {
  return (sumOf(metrics, `${CHECKS}_sum`, policies) / sumOf(metrics, `${CHECKS}_count`, policies)) * 1000;
}

test("the checks of Marina's policies take less than a tenth of the time of the writes that they check", async () => {
  const ours = new RegExp(`policy="[a-z-]+\\.${GROUP}"`);
  const writes = new RegExp(`group="${GROUP}".*verb="(?:APPLY|DELETE|PATCH|POST|PUT)"`);
  const metrics = await readMetrics();
  const share = sumOf(metrics, `${CHECKS}_sum`, ours) / sumOf(metrics, `${WRITES}_sum`, writes);
  const mean = meanOf(metrics, ours).toFixed(3);
  console.log(`policies of ${GROUP}: mean of a check ${mean} ms, ${(share * 100).toFixed(1)} % of a write`);
  const policies = new Set(metrics.match(new RegExp(`policy="[a-z-]+\\.${GROUP}"`, "g")));
  for (const policy of policies)
    console.log(`${policy}: mean of a check ${meanOf(metrics, new RegExp(policy)).toFixed(3)} ms`);
  expect(share).toBeGreaterThan(0);
  expect(share).toBeLessThan(0.1);
});

/** How often RBAC allowed something for each of some changes by an engineer: what else happens at the time makes it more. */
async function countDecisions(world: World, change: object): Promise<number> {
  const readDecisions = async () => sumOf(await readMetrics(), DECISIONS, /decision="allowed".*type="RBAC"/);
  const before = await readDecisions();
  for (let n = 0; n < REQUESTS; n++) {
    const { status, body } = await attempt(world, "engineer", merge("clusters/asked", { ...change }));
    expect([status, body.message]).toEqual([200, undefined]);
  }
  return ((await readDecisions()) - before) / REQUESTS;
}

test("RBAC is asked about a change only where what is reserved or schedules a deletion changes", async () => {
  const world = await openWorld();
  try {
    await make(world, "clusters/asked", {});
    const [free, reserved, ending]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < ROUNDS; round++) {
      free.push(await countDecisions(world, { spec: { displayName: `Name ${round}` } }));
      reserved.push(await countDecisions(world, { spec: { suspend: true } }));
      ending.push(await countDecisions(world, { spec: { expiresAt: "2040-01-01T00:00:00Z" } }));
    }
    const once = Math.min(...free);
    for (const more of [Math.min(...reserved), Math.min(...ending)]) {
      console.log(`decisions of RBAC a change: ${once}, and ${more} where what is reserved changes`);
      expect(more - once).toBeGreaterThan(0.5);
    }
  } finally {
    await world.close();
  }
});
