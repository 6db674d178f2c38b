import { expect, test } from "vitest";
import {
  type Check,
  checkAutoscaler,
  checkGates,
  checkNetworks,
  checkPlans,
  checkRights,
  formatCheck,
  listNeededRights,
} from "./checks.ts";

const TWO_PLANS = { default: {}, large: {} };
const READ_PROVIDER = { verb: "get", group: "infrastructure.example.com", resource: "exampleclusters" };

test.each<[string, Check[], string[]]>([
  ["both gates", checkGates({ topology: true, taints: true }), ["ok"]],
  ["no gate for taints", checkGates({ topology: true, taints: false }), ["warning"]],
  ["no topology", checkGates({ topology: false, taints: undefined }), ["failed"]],
  ["no answer", checkGates({ topology: undefined, taints: undefined }), ["failed"]],
  [
    "plans",
    checkPlans(
      {
        a: { class: "whole", zones: ["one"], nodeTaints: true },
        b: { class: "poor", nodeTaints: { no: "It has none." } },
        c: { class: { no: "It is not there." } },
        d: { class: { no: "None is named." } },
      },
      { a: {}, b: {}, c: {} },
    ),
    ["ok", "warning", "warning", "warning"],
  ],
  [
    "plans without a class, but for one",
    checkPlans({ default: { class: "whole" }, large: { class: { no: "It is not there." } } }, TWO_PLANS),
    ["ok", "warning"],
  ],
  [
    "configured plans without a class",
    checkPlans(
      {
        default: { class: { no: "It is not there." } },
        large: { class: { no: "It is not there." } },
        other: { class: { no: "None is named." } },
      },
      TWO_PLANS,
    ),
    ["failed", "failed", "warning"],
  ],
  ["rights", checkRights({ needed: [], providers: [] }), ["ok"]],
  ["no right", checkRights({ needed: listNeededRights("marina"), providers: [READ_PROVIDER] }), ["failed"]],
  ["no right to read a provider", checkRights({ needed: [], providers: [READ_PROVIDER] }), ["warning"]],
  ["an autoscaler", [checkAutoscaler("autoscaler:1"), checkAutoscaler(undefined)], ["ok", "warning"]],
  ["networks", [checkNetworks(["192.0.2.0/24"]), checkNetworks([])], ["ok", "warning"]],
])("%s", (_, checks, states) => {
  expect(checks.map(({ state }) => state)).toEqual(states);
  for (const check of checks) expect(formatCheck(check)).toMatch(/^(ok|warning|failed) +[\w ]+: .+\.$/);
});

test("a plan that lacks something names it", () => {
  const poor = { class: "poor", nodeLabels: { no: "-" }, nodeTaints: { no: "-" } };
  const [check] = checkPlans({ default: poor }, { default: {} });
  expect(check?.text).toContain("without nodeLabels, nodeTaints");
});
