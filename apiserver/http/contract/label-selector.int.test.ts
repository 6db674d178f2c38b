import { sql } from "drizzle-orm";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import type { Sql } from "../../db/client.ts";
import { listClusters } from "../../resources/project/index.ts";
import { startTestApp } from "../../testing/app.ts";
import { compileSelector, type LabelRequirement, parseSelector } from "./label-selector.ts";

const api = setUp(startTestApp);

type Labels = Record<string, string>;

/** What Kubernetes' own `Requirement.Matches` says of one requirement. */
function holds(requirement: LabelRequirement, labels: Labels): boolean {
  const { key } = requirement;
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  if ("values" in requirement)
    return (value !== undefined && requirement.values.includes(value)) === (requirement.operator === "in");
  if (!("bound" in requirement)) return (value !== undefined) === (requirement.operator === "exists");
  if (value === undefined || !/^[0-9]+$/.test(value) || BigInt(value) >= 2n ** 63n) return false;
  const { bound } = requirement;
  return requirement.operator === ">" ? BigInt(value) > bound : BigInt(value) < bound;
}

const key = fc.constantFrom("a", "b", "example.com/c", "in", "constructor");
const value = fc.constantFrom("", "x", "y-1", "0", "7", "007", "9223372036854775807", "9223372036854775808");
const labels = fc.option(fc.dictionary(key, value, { maxKeys: 5 }), { nil: null });
const values = fc.array(value, { minLength: 1, maxLength: 3 }).map((all) => `(${all.join(",")})`);
const bound = fc.constantFrom("0", "7", "9223372036854775807");
const requirement = fc.oneof(
  key,
  key.map((name) => `!${name}`),
  fc.tuple(key, fc.constantFrom("=", "==", "!="), value).map((parts) => parts.join("")),
  fc.tuple(key, fc.constantFrom("in", "notin"), values).map((parts) => parts.join(" ")),
  fc.tuple(key, fc.constantFrom(">", "<"), bound).map((parts) => parts.join("")),
);
const selector = fc.array(requirement, { minLength: 1, maxLength: 4 }).map((all) => all.join(","));

test("Postgres selects what each requirement holds for, and nothing else", async () => {
  const objects = fc.array(labels, { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(objects, selector, async (all, text) => {
      const requirements = parseSelector(text);
      const rows = await api.deps.db.execute<{ position: number }>(
        sql`select position::int from jsonb_array_elements(${JSON.stringify(all)}::jsonb) with ordinality as o (labels, position)
          where ${compileSelector(sql`labels`, requirements)} order by position`,
      );
      const expected = all.flatMap((one, index) =>
        requirements.every((each) => holds(each, one ?? {})) ? [index + 1] : [],
      );
      expect([...rows].map(({ position }) => position)).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

test("a list by labels reads the clusters of its organization alone, by their index, and filters those", async () => {
  const { db, sql: plain } = api.deps;
  const organizations = Array.from({ length: 40 }, createId);
  await plain`insert into projected_clusters
      (uid, id, org_id, namespace, name, display_name, status, resource_version, updated_at, network_updated_at, object)
    select id, id, org_id, 'org-' || org_id, 'c-' || n, 'c', 'running', 1, now(), now(),
      jsonb_build_object('spec', jsonb_build_object('labels', jsonb_build_object('number', n::text)))
    from unnest(${organizations}::uuid[]) as org_id, generate_series(1, 50) as n,
      lateral (select gen_random_uuid() as id where n > 0 and org_id is not null) as ids`;
  await plain`analyze projected_clusters`;
  const asked = vi.spyOn((db as typeof db & { $client: Sql }).$client, "unsafe");
  const labels = parseSelector("number in (7,8,9),!legacy,stage!=test,number>7");
  expect(await listClusters(db, organizations[0], { limit: 50, labels })).toHaveLength(2);
  const [text = "", values] = asked.mock.lastCall ?? [];
  asked.mockRestore();
  const [row] = await plain.unsafe(`explain (format json) ${text}`, [...(values ?? [])] as string[]);
  const plan = JSON.stringify(row);
  // Both begin with the organization, the second has only what has labels.
  expect(plan).toMatch(/"Index Name":"projected_clusters_(org|labels)_idx"/);
  expect(plan).toMatch(/"Index Cond":"\(org_id = [^"]*"/);
  expect(plan).toMatch(/"Filter":".*labels/);
  expect(plan).not.toContain("Seq Scan");
});
