import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeInvalidCredentials, mintFor, tamper } from "./api-tokens/testing.ts";
import { ROLES, type Role, SCOPES, type Scope } from "./http/authorization/permissions.ts";
import type { Person } from "./testing/issuer.ts";
import {
  call,
  findWrongCells,
  listRows,
  outcomeOf,
  type SecurityFixture,
  startSecurityFixture,
} from "./testing/security-fixture.ts";
import { mayRole, openingsOf } from "./testing/security-rows.ts";

let fixture: SecurityFixture;
let people: Record<Role, Person>;
let own: string;

beforeAll(async () => {
  fixture = await startSecurityFixture();
  people = fixture.people;
  own = fixture.organizations.own;
});
afterAll(() => fixture.close());

describe("the security table", () => {
  test("a person gets in with the roles of the row, in the own organization", async () => {
    const wrong = await findWrongCells(fixture, ({ operation, row }) =>
      ROLES.map((role) => ({
        cell: role,
        want: mayRole(row, role) ? "in" : "403",
        got: call(fixture, operation, own, people[role].token),
      })),
    );
    expect(wrong).toEqual([]);
  });

  test("a token gets in with a scope and a role of the row, and with nothing less", async () => {
    const { owner } = people;
    const tokens = new Map<string, string>();
    const tokenFor = async (role: Role, scopes: Scope[]) => {
      const key = `${role} ${scopes.join()}`;
      const text = tokens.get(key) ?? (await mintFor(fixture.api.deps, owner, own, { role, scopes })).text;
      tokens.set(key, text);
      return text;
    };
    const wrong: string[] = [];
    for (const { operation, name, row } of listRows(fixture)) {
      const openings = openingsOf(row);
      const places = [...Array(Math.max(1, ...openings.map((scopes) => scopes.length))).keys()];
      const isOpen = row === "public" || row === "signed-in";
      const cases: [string, Role, Scope[], boolean][] = [
        ...ROLES.flatMap((role) =>
          openings.map((scopes): [string, Role, Scope[], boolean] => [
            `${role} with ${scopes.join()}`,
            role,
            scopes,
            mayRole(row, role),
          ]),
        ),
        // Each lacks one scope of every set.
        ...places.map((place): [string, Role, Scope[], boolean] => [
          "owner without",
          "owner",
          SCOPES.filter((scope) => !openings.some((scopes) => scopes[place] === scope)),
          isOpen,
        ]),
      ];
      for (const [cell, role, scopes, isIn] of cases) {
        const outcome = outcomeOf(await call(fixture, operation, own, await tokenFor(role, scopes)));
        if (outcome !== (isIn ? "in" : "403")) wrong.push(`${name}, ${cell}: ${outcome}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("a token is limited to what its creator may do now", async () => {
    const { text } = await mintFor(fixture.api.deps, people.viewer, own, {
      role: "owner",
      scopes: [...SCOPES],
    });
    const wrong = await findWrongCells(fixture, ({ operation, row }) => [
      {
        cell: "owner token of a viewer",
        want: mayRole(row, "viewer") && openingsOf(row).length > 0 ? "in" : "403",
        got: call(fixture, operation, own, text),
      },
    ]);
    expect(wrong).toEqual([]);
  });

  test("a platform administrator gets in under /admin, and into no organization", async () => {
    const wrong = await findWrongCells(fixture, ({ operation, row, isInOrg }) => [
      {
        cell: "staff",
        want: isInOrg && row !== "staff" ? "organization 404" : "in",
        got: call(fixture, operation, own, fixture.staff.token),
      },
    ]);
    expect(wrong).toEqual([]);
  });

  test("an invalid credential is 401 everywhere, before any other check", async () => {
    const { owner } = people;
    const { api, issuer, outsider } = fixture;
    const bad = await makeInvalidCredentials(api, issuer, { orgId: own, owner, outsider });
    const wrong = await findWrongCells(fixture, ({ operation, row }) =>
      Object.entries(bad).flatMap(([cell, token]) =>
        [own, "not-a-uuid"].map((orgId) => ({
          cell,
          want: row === "public" ? "in" : "401",
          got: call(fixture, operation, orgId, token),
        })),
      ),
    );
    expect(wrong).toEqual([]);
  });

  test("a 401 says how to authenticate", async () => {
    const { api, outsider } = fixture;
    const response = await api.request("GET", "/api/v1/me", { as: null });
    expect(response.headers.get("www-authenticate")).toBe('Bearer realm="marina"');
    const tampered = await api.request("GET", "/api/v1/me", {
      token: tamper(people.owner.token, outsider.userId),
    });
    expect(tampered.headers.get("www-authenticate")).toContain('error="invalid_token"');
  });
});
