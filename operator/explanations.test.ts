import { describe, expect, test } from "vitest";
import { findTenantTextFault } from "../e2e/contract/seen/message-forms.ts";
import { type ConditionLike, NOT_STALLED } from "../shared/controller/conditions.ts";
import { clusterSpecSchema } from "../shared/crd/cluster.ts";
import { CONDITION_REASONS, MAX_STATUS_MESSAGE_LENGTH } from "../shared/crd/conditions.ts";
import { nodePoolSpecSchema } from "../shared/crd/node-pool.ts";
import { toRestWords } from "../shared/crd/rest-words.ts";
import type { PoolFixture } from "./node-pool/testing.ts";
import { ClusterFixture } from "./testing-cluster.ts";
import { clusters, inConditionsOnly, pools } from "./testing-reasons.ts";

interface ReportedStatus {
  message?: string | undefined;
  conditions?: readonly ConditionLike[] | undefined;
}

const kinds: [string, string, () => { message: string | undefined; reasons: string[] }][] = [
  ...clusters.map(([reason, fixture]): (typeof kinds)[number] => [
    "cluster",
    reason,
    () => summarize(fixture),
  ]),
  ...pools.map(([reason, fixture]): (typeof kinds)[number] => [
    "node pool",
    reason,
    () => summarize(fixture),
  ]),
];

function summarize(fixture: ClusterFixture | PoolFixture) {
  const { message, conditions = [] } = statusOf(fixture.reconciled().after(61).reconciled());
  return { message, reasons: conditions.map(({ reason }) => reason) };
}

function statusOf(fixture: ClusterFixture | PoolFixture): ReportedStatus {
  return (fixture instanceof ClusterFixture ? fixture.observed.cluster.status : fixture.status()) ?? {};
}

/** What a person can do, or that there is nothing to do. */
const NEXT_STEP =
  /\b(ask|look at|set|create|delete|change|leave it out|replace|put|automatically|one after another|waits for|is being deleted|have the label|follow)\b/i;

describe("after a minute every wait and failure is explained in a sentence with the next step", () => {
  test.each(kinds)("a %s: %s", (_kind, reason, observe) => {
    const { message, reasons } = observe();
    expect(reasons).toContain(reason);
    expect(message).toMatch(/^[A-Z0-9].*[.]$/s);
    expect(message).not.toMatch(/undefined|null|\[object|NaN/);
    expect(findTenantTextFault(message ?? "")).toBeUndefined();
    expect(message?.length).toBeLessThanOrEqual(MAX_STATUS_MESSAGE_LENGTH);
    expect(isIn("progressing", reason) || NEXT_STEP.test(message ?? "")).toBe(true);
  });

  test("every reason has such an explanation", () => {
    const { progressing, waiting, degraded, stalled } = CONDITION_REASONS;
    const explained = new Set(kinds.map(([, reason]) => reason));
    // Pools that may not be made, an autoscaler that is starting, rules that cannot be verified, add-ons, and access that fails, hold up no change:
    // their own conditions explain them.
    const unexplained = [...progressing, ...waiting, ...degraded, ...stalled].filter(
      (reason) => !explained.has(reason),
    );
    const access = ["CredentialsFailed", "BindingsFailed", "TenantAPIUnreachable"];
    const addOns = ["AddOnsFailed", "AddOnNotFound"];
    expect(unexplained).toEqual([
      "WaitingForNodePools",
      "WaitingForAutoscaler",
      "WaitingForAddOns",
      "RequestedOnly",
      "ProviderUnreadable",
      ...access,
      ...addOns,
    ]);
  });
});

/** The messages of the statuses that have a condition of this reason: its own, and `status.message`. */
function findMessages(reason: string): string[] {
  const fixtures = [...clusters, ...inConditionsOnly.clusters, ...pools, ...inConditionsOnly.pools];
  const statuses = fixtures.flatMap(([, fixture]) => [
    statusOf(fixture.reconciled()),
    statusOf(fixture.reconciled().after(61).reconciled()),
  ]);
  // For accesses and inventories.
  statuses.push({ conditions: [{ ...NOT_STALLED, lastTransitionTime: "" }] });
  const messages = statuses.flatMap(({ message, conditions = [] }) => {
    const own = conditions.filter((condition) => condition.reason === reason);
    const texts = own.map((condition) => condition.message);
    return message === undefined || own.length === 0 ? texts : [...texts, message];
  });
  return [...new Set(messages)];
}

/** Settings whose name in `spec` is no word of English: without the mark, REST would show them by it. */
const NAMES = [...Object.keys(clusterSpecSchema.shape), ...Object.keys(nodePoolSpecSchema.shape)].filter(
  (name) => /[A-Z]/.test(name),
);
const SETTING = `\\b(?:${NAMES.join("|")})\\b`;
const UNMARKED = new RegExp(`(?<!spec\\.)${SETTING}`);
/** What REST does not have. */
const NOT_IN_REST = new RegExp(
  `\\bspec\\.|[Aa]nnotation|\\bkubectl\\b|server-side apply|[Nn]amespace|cloud\\.marina\\.dev|${SETTING}`,
);

describe("every reason, for kubectl and for REST:", () => {
  test.each(Object.values(CONDITION_REASONS).flat())("%s", (reason) => {
    const messages = findMessages(reason);
    expect(messages).not.toEqual([]);
    for (const message of messages) {
      expect(message).toMatch(/^[A-Z0-9].*[.]$/s);
      expect(message).not.toMatch(UNMARKED);
      expect(findTenantTextFault(message)).toBeUndefined();
      const inRest = toRestWords(message);
      expect(inRest).toMatch(/^[A-Z0-9].*[.]$/s);
      expect(inRest).not.toMatch(NOT_IN_REST);
      expect(findTenantTextFault(inRest)).toBeUndefined();
    }
  });

  test("the operator gives no other", () => {
    const known: readonly string[] = Object.values(CONDITION_REASONS).flat();
    const given = kinds.flatMap(([, , observe]) => observe().reasons);
    expect(given.filter((reason) => !known.includes(reason))).toEqual([]);
  });
});

function isIn(state: keyof typeof CONDITION_REASONS, reason: string): boolean {
  return CONDITION_REASONS[state].some((it) => it === reason);
}
