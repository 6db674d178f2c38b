import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterAccessKind } from "../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../shared/crd/names.ts";
import { createId } from "../shared/id.ts";
import { makeInvalidCredentials, mintFor, tamper } from "./api-tokens/testing.ts";
import { createClientKey } from "./cluster-accesses/client-key.ts";
import { ROLES, type Role, SCOPES, type Scope } from "./http/authorization/permissions.ts";
import type { Operation } from "./http/contract/operation.ts";
import { findCluster } from "./projection/index.ts";
import { startTestApp, type TestAnswer, type TestApp } from "./testing/app.ts";
import {
  addPerson,
  makeOrganization,
  type Person,
  startTestIssuer,
  type TestIssuer,
} from "./testing/issuer.ts";
import { SECURITY_ROWS, type SecurityRow } from "./testing/security-rows.ts";

let issuer: TestIssuer;
let api: TestApp;
let own: string;
let foreign: string;
let deleted: string;
const MISSING = createId();
const people = new Map<Role, Person>();
let stranger: Person;
let staff: Person;
let demoted: Person;
/** Real records of the foreign organization, by path parameter. */
let foreignChildren: Record<string, string>;

beforeAll(async () => {
  issuer = await startTestIssuer();
  api = await startTestApp({ issuers: [issuer.config] });
  [stranger, demoted] = [await issuer.createPerson(), await issuer.createPerson()];
  staff = await issuer.createPerson({ claims: { realm_access: { roles: ["platform-admin"] } } });
  const { owner, id } = await makeOrganization(api, issuer);
  own = id;
  const create = async (token: string) =>
    (await api.request("POST", "/api/v1/organizations", { token, body: { name: "Table" } })).body.id;
  [foreign, deleted] = [await create(stranger.token), await create(owner.token)];
  for (const role of ROLES) {
    const person = role === "owner" ? owner : await issuer.createPerson();
    people.set(role, person);
    if (role === "owner") continue;
    await addPerson(api.deps, own, person, role);
    await addPerson(api.deps, deleted, person, role);
  }
  await addPerson(api.deps, own, demoted, "viewer");
  foreignChildren = await makeForeignChildren();
  const removal = await api.request("DELETE", `/api/v1/organizations/${deleted}`, { token: owner.token });
  if (removal.status !== 204) throw new Error(`not deleted: ${removal.status}`);
});

/** One record of every kind in the foreign organization, by the name of its path parameter. */
async function makeForeignChildren(): Promise<Record<string, string>> {
  const path = `/api/v1/organizations/${foreign}/clusters`;
  const { token } = stranger;
  const pool = { name: "foreign", vcpus: 1, memory_gb: 2, disk_gb: 10, desired_nodes: 0 };
  const cluster = await api.request("POST", path, {
    token,
    body: { name: "foreign", k8s_version: "1.34", node_pools: [pool] },
  });
  const pools = await api.request("GET", `${path}/${cluster.body.id}/nodepools`, { token });
  const accessID = createId();
  await api.deps.kube.create(
    clusterAccessKind,
    {
      metadata: { namespace: `org-${foreign}`, name: "foreign", labels: { [LABEL_ID]: accessID } },
      spec: {
        clusterName: (await findCluster(api.deps.db, foreign, cluster.body.id))?.name,
        subject: stranger.userId,
        ttlSeconds: 600,
        csr: (await createClientKey(stranger.userId)).csr,
      },
    },
    { fieldManager: "test" },
  );
  return {
    accessID,
    memberID: await addPerson(api.deps, foreign, await issuer.createPerson(), "member"),
    tokenID: (await mint(stranger, foreign, { role: "viewer", scopes: ["clusters:read"] })).id,
    clusterID: cluster.body.id,
    poolID: pools.body.items[0].id,
    name: "node-1",
  };
}

afterAll(async () => {
  await api.request("DELETE", `/api/v1/organizations/${foreign}/clusters/${foreignChildren.clusterID}`, {
    token: stranger.token,
  });
  await api.close();
  issuer.close();
});

const mint = (person: Person, orgId: string, token: { role: Role; scopes: Scope[] }) =>
  mintFor(api.deps, person, orgId, token);

function personWith(role: Role): Person {
  const person = people.get(role);
  if (person === undefined) throw new Error(`nobody is ${role}`);
  return person;
}

/** Calls an operation so that, when it is let in, it finds nothing to change: unknown children, no body, no match. */
function call(
  operation: Operation,
  orgId: string,
  token: string | null,
  children: Record<string, string> = {},
) {
  const path = operation.path.replaceAll(/\{(.+?)\}/g, (_, name: string) =>
    name === "orgID" ? orgId : (children[name] ?? MISSING),
  );
  const headers = operation.method === "get" ? {} : { "if-match": '"never"' };
  return api.request(operation.method.toUpperCase(), path, {
    ...(token === null ? { as: null } : { token }),
    headers,
  });
}

/** "in", a refusal ("401", "403", "organization 404"), or what should not be. */
type Verdict = string;

function verdictOf({ status, body }: TestAnswer): Verdict {
  if (status === 401 || status === 403) return String(status);
  if (status === 404 && body.error?.message === "This organization does not exist.")
    return "organization 404";
  return status < 500 ? "in" : `unexpected ${status}`;
}

function mayRole(row: SecurityRow, role: Role): boolean {
  if (typeof row === "string") return row !== "staff";
  return row[0].includes(role.charAt(0));
}

function scopesOf(row: SecurityRow): Scope[] {
  if (row === "public" || row === "signed-in") return [...SCOPES];
  if (typeof row === "string") return [];
  const [, ...patterns] = row;
  return SCOPES.filter((scope) =>
    patterns.some((pattern) => pattern === scope || pattern === scope.replace(/:.*/, ":*")),
  );
}

function withoutRequestId({ status, headers, body }: TestAnswer) {
  // What is left of the caller's rate counts down with each request, whatever it asks for.
  const kept = [...headers].filter(([name]) => name !== "x-request-id" && name !== "ratelimit");
  const { request_id: _, ...error } = body.error ?? {};
  return { status, headers: kept, error };
}

/** Every operation with its row; `isInOrg` ones have `{orgID}` in their path. */
function rows() {
  return api.operations.map((operation) => {
    const row = SECURITY_ROWS[operation.operationId];
    if (row === undefined) throw new Error(`${operation.operationId} has no row in the security table`);
    return { operation, name: operation.operationId, row, isInOrg: operation.path.includes("{orgID}") };
  });
}

interface Cell {
  cell: string;
  want: Verdict;
  got: Promise<TestAnswer>;
}

/** Runs all cells of all operations and tells which came out wrong, all at once; there must be some at all. */
async function findWrongCells(cells: (row: ReturnType<typeof rows>[number]) => Cell[]): Promise<string[]> {
  const wrong: string[] = [];
  let count = 0;
  for (const row of rows()) {
    for (const { cell, want, got } of cells(row)) {
      const verdict = verdictOf(await got);
      count += 1;
      if (verdict !== want) wrong.push(`${row.name}, ${cell}: ${verdict} instead of ${want}`);
    }
  }
  return count === 0 ? ["no cell was run"] : wrong;
}

describe("the security table (section 5)", () => {
  test("a person gets in with the roles of the row, in the own organization", async () => {
    const wrong = await findWrongCells(({ operation, row }) =>
      ROLES.map((role) => ({
        cell: role,
        want: mayRole(row, role) ? "in" : "403",
        got: call(operation, own, personWith(role).token),
      })),
    );
    expect(wrong).toEqual([]);
  });

  test.each(ROLES)(
    "foreign, missing and deleted organizations are one and the same answer to a %s",
    async (role) => {
      const { token } = personWith(role);
      for (const { operation, name, isInOrg } of rows()) {
        if (!isInOrg || operation.access === "platform-admin") continue;
        const [first, ...others] = await Promise.all(
          [MISSING, foreign, deleted].map((orgId) => call(operation, orgId, token)),
        );
        if (first === undefined) throw new Error("no answer");
        expect(`${name} ${verdictOf(first)}`).toBe(`${name} organization 404`);
        for (const other of others) expect(withoutRequestId(other)).toEqual(withoutRequestId(first));
      }
    },
  );

  test("a child of another organization is the same answer as a missing one", async () => {
    for (const { operation } of rows()) {
      const params = [...operation.path.matchAll(/\{(.+?)\}/g)].map(([, name = ""]) => name);
      if (params.every((name) => name === "orgID")) continue;
      expect(params.filter((name) => name !== "orgID" && foreignChildren[name] === undefined)).toEqual([]);
      const { token } = personWith("owner");
      const [there, missing] = [
        await call(operation, own, token, foreignChildren),
        await call(operation, own, token),
      ];
      expect(missing.status).toBe(404);
      expect(withoutRequestId(there)).toEqual(withoutRequestId(missing));
    }
  });

  test("a token gets in with a scope of the row and a role of the row, and with nothing less", async () => {
    const owner = personWith("owner");
    const tokens = new Map<string, string>();
    const tokenFor = async (role: Role, scopes: Scope[]) => {
      const key = `${role} ${scopes.join()}`;
      const text = tokens.get(key) ?? (await mint(owner, own, { role, scopes })).text;
      tokens.set(key, text);
      return text;
    };
    const wrong: string[] = [];
    for (const { operation, name, row } of rows()) {
      const opening = scopesOf(row);
      const isOpen = row === "public" || row === "signed-in";
      const cases: [string, Role, Scope[], boolean][] = [
        ...ROLES.flatMap((role) =>
          opening.map((scope): [string, Role, Scope[], boolean] => [
            `${role} with ${scope}`,
            role,
            [scope],
            mayRole(row, role),
          ]),
        ),
        ["owner without", "owner", SCOPES.filter((scope) => !opening.includes(scope)), isOpen],
      ];
      for (const [cell, role, scopes, isIn] of cases) {
        const verdict = verdictOf(await call(operation, own, await tokenFor(role, scopes)));
        if (verdict !== (isIn ? "in" : "403")) wrong.push(`${name}, ${cell}: ${verdict}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("a token is bound by what its creator may do now", async () => {
    const { text } = await mint(demoted, own, { role: "owner", scopes: [...SCOPES] });
    const wrong = await findWrongCells(({ operation, row }) => [
      {
        cell: "owner token of a viewer",
        want: mayRole(row, "viewer") && scopesOf(row).length > 0 ? "in" : "403",
        got: call(operation, own, text),
      },
    ]);
    expect(wrong).toEqual([]);
  });

  test("a token knows no other organization, not even its creator's", async () => {
    const { text } = await mint(personWith("owner"), own, { role: "owner", scopes: [...SCOPES] });
    const wrong = await findWrongCells(({ operation, isInOrg }) =>
      !isInOrg || operation.access === "platform-admin"
        ? []
        : [foreign, MISSING, deleted].map((orgId) => ({
            cell: "elsewhere",
            want: "organization 404",
            got: call(operation, orgId, text),
          })),
    );
    expect(wrong).toEqual([]);
  });

  test("the platform's staff get in under /admin, and into no organization by that", async () => {
    const wrong = await findWrongCells(({ operation, row, isInOrg }) => [
      {
        cell: "staff",
        want: isInOrg && row !== "staff" ? "organization 404" : "in",
        got: call(operation, own, staff.token),
      },
    ]);
    expect(wrong).toEqual([]);
  });

  test("a credential that is none is 401 everywhere, before anything else", async () => {
    const owner = personWith("owner");
    const bad = await makeInvalidCredentials(api, issuer, { orgId: own, owner, outsider: stranger });
    const wrong = await findWrongCells(({ operation, row }) =>
      Object.entries(bad).flatMap(([cell, token]) =>
        [own, "not-a-uuid"].map((orgId) => ({
          cell,
          want: row === "public" ? "in" : "401",
          got: call(operation, orgId, token),
        })),
      ),
    );
    expect(wrong).toEqual([]);
  });

  test("a 401 says how to authenticate (section 7)", async () => {
    const answer = await api.request("GET", "/api/v1/me", { as: null });
    expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="marina"');
    const tampered = await api.request("GET", "/api/v1/me", {
      token: tamper(personWith("owner").token, stranger.userId),
    });
    expect(tampered.headers.get("www-authenticate")).toContain('error="invalid_token"');
  });
});
