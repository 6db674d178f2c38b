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

/** The sum of a metric of the Kubernetes API over all series whose labels match. */
async function readMetric(name: string, labels: RegExp): Promise<number> {
  const { stdout } = await kubectl(["get", "--raw", "/metrics"]);
  const series = stdout.split("\n").filter((line) => line.startsWith(`${name}{`) && labels.test(line));
  return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

test("the checks of Marina's policies take less than a tenth of the time of the writes that they check", async () => {
  const ours = new RegExp(`policy="[a-z-]+\\.${GROUP}"`);
  const writes = new RegExp(`group="${GROUP}".*verb="(?:APPLY|DELETE|PATCH|POST|PUT)"`);
  const checksSeconds = await readMetric(`${CHECKS}_sum`, ours);
  const meanMs = (checksSeconds / (await readMetric(`${CHECKS}_count`, ours))) * 1000;
  const share = checksSeconds / (await readMetric(`${WRITES}_sum`, writes));
  console.log(
    `policies of ${GROUP}: mean of a check ${meanMs.toFixed(3)} ms, ${(share * 100).toFixed(1)} % of a write`,
  );
  expect(share).toBeGreaterThan(0);
  expect(share).toBeLessThan(0.1);
});

/** How often RBAC allowed something for each of some changes by an engineer: what else happens at the time makes it more. */
async function countDecisions(world: World, change: object): Promise<number> {
  const before = await readMetric(DECISIONS, /decision="allowed".*type="RBAC"/);
  for (let n = 0; n < REQUESTS; n++) {
    const { status, body } = await attempt(world, "engineer", merge("clusters/asked", { ...change }));
    expect([status, body.message]).toEqual([200, undefined]);
  }
  return ((await readMetric(DECISIONS, /decision="allowed".*type="RBAC"/)) - before) / REQUESTS;
}

test("RBAC is asked about a change only where what is reserved or schedules a deletion changes", async () => {
  const opened = await openWorld();
  const { world } = opened;
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
    await opened.close();
  }
});
