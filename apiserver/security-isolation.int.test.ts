import { describe, expect, test } from "vitest";
import { setUp } from "../e2e/testing/set-up.ts";
import { mintFor } from "./api-tokens/testing.ts";
import { ROLES, SCOPES } from "./http/authorization/permissions.ts";
import type { TestResponse } from "./testing/app.ts";
import {
  call,
  findWrongCells,
  listRows,
  outcomeOf,
  startSecurityFixture,
} from "./testing/security-fixture.ts";

const fixture = setUp(startSecurityFixture);

function withoutRequestId({ status, headers, body }: TestResponse) {
  // What is left of the caller's rate counts down with each request, whatever it asks for.
  const kept = [...headers].filter(([name]) => name !== "x-request-id" && name !== "ratelimit");
  const { request_id: _, ...error } = body.error ?? {};
  return { status, headers: kept, error };
}

describe("an organization that the caller cannot see", () => {
  test.each(ROLES)(
    "foreign, missing and deleted organizations give the same response to a %s",
    async (role) => {
      const { token } = fixture.people[role];
      const { foreign, missing, deleted } = fixture.organizations;
      for (const { operation, name, isInOrg } of listRows(fixture)) {
        if (!isInOrg || operation.access === "platform-admin") continue;
        const [first, ...others] = await Promise.all(
          [missing, foreign, deleted].map((orgId) => call(fixture, operation, orgId, token)),
        );
        if (first === undefined) throw new Error("no response");
        expect(`${name} ${outcomeOf(first)}`).toBe(`${name} organization 404`);
        for (const other of others) expect(withoutRequestId(other)).toEqual(withoutRequestId(first));
      }
    },
  );

  test("a child of another organization gives the same response as a missing one", async () => {
    const { foreignChildren } = fixture;
    for (const { operation } of listRows(fixture)) {
      const params = [...operation.path.matchAll(/\{(.+?)\}/g)].map(([, name = ""]) => name);
      if (params.every((name) => name === "orgID") || operation.access === "platform-admin") continue;
      const without = params.filter((name) => name !== "orgID" && foreignChildren[name] === undefined);
      expect(without, "createForeignChildren (security-fixture.ts) makes no record for these").toEqual([]);
      const { token } = fixture.people.owner;
      const [foreign, missing] = [
        await call(fixture, operation, fixture.organizations.own, token, foreignChildren),
        await call(fixture, operation, fixture.organizations.own, token),
      ];
      expect(missing.status).toBe(404);
      expect(withoutRequestId(foreign)).toEqual(withoutRequestId(missing));
    }
  });

  test("a token sees no other organization, not even its creator's", async () => {
    const { own, foreign, missing, deleted } = fixture.organizations;
    const { owner } = fixture.people;
    const { text } = await mintFor(fixture.api.deps, owner, own, { role: "owner", scopes: [...SCOPES] });
    const wrong = await findWrongCells(fixture, ({ operation, isInOrg }) =>
      !isInOrg || operation.access === "platform-admin"
        ? []
        : [foreign, missing, deleted].map((orgId) => ({
            cell: "elsewhere",
            want: "organization 404",
            got: call(fixture, operation, orgId, text),
          })),
    );
    expect(wrong).toEqual([]);
  });
});
