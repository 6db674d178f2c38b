import { LABEL_ID } from "../../shared/crd/names.ts";
import { createId } from "../../shared/program/id.ts";
import { mintFor } from "../api-tokens/testing.ts";
import { insertTestCreditNote, insertTestInvoice } from "../billing/testing.ts";
import { createClientKey } from "../cluster-accesses/issue.ts";
import { createAccessObject } from "../cluster-accesses/testing.ts";
import { ROLES, type Role } from "../http/authorization/permissions.ts";
import type { Operation } from "../http/contract/operation.ts";
import { insertTestCredential, pushAnyImage } from "../registry/testing.ts";
import { findCluster } from "../resources/project/index.ts";
import { insertTestAttachment } from "../tickets/attachments/testing.ts";
import { startTestApp, type TestApp, type TestResponse } from "./app.ts";
import { addPerson, makeOrganization, type Person, startTestIssuer, type TestIssuer } from "./issuer.ts";
import { VALID_BODIES } from "./operation-cases.ts";
import { SECURITY_ROWS, type SecurityRow } from "./security-rows.ts";

/** An application with people of every role, for the tests of the security table. */
export interface SecurityFixture {
  api: TestApp;
  issuer: TestIssuer;
  /** The ids of an organization with a member of every role, and of three that these cannot see. */
  organizations: { own: string; foreign: string; deleted: string; missing: string };
  /** The member with each role in the own organization. */
  people: Record<Role, Person>;
  /** The owner of the foreign organization. */
  outsider: Person;
  /** A platform administrator, member of no organization. */
  staff: Person;
  /** Real records of the foreign organization, by path parameter. */
  foreignChildren: Record<string, string>;
  close(): Promise<void>;
}

export async function startSecurityFixture(): Promise<SecurityFixture> {
  const issuer = await startTestIssuer();
  const api = await startTestApp({ issuers: [issuer.config], registry: {} });
  const outsider = await issuer.createPerson();
  const staff = await issuer.createStaff();
  const { owner, id: own } = await makeOrganization(api, issuer);
  const create = async (token: string) =>
    (await api.request("POST", "/api/v1/organizations", { token, body: { name: "Table" } })).body.id;
  const [foreign, deleted] = [await create(outsider.token), await create(owner.token)];
  const people: Partial<Record<Role, Person>> = { owner };
  for (const role of ROLES) {
    if (role === "owner") continue;
    const person = await issuer.createPerson();
    people[role] = person;
    await addPerson(api.deps, own, person, role);
    await addPerson(api.deps, deleted, person, role);
  }
  const foreignChildren = await createForeignChildren(api, issuer, foreign, outsider);
  const removal = await api.request("DELETE", `/api/v1/organizations/${deleted}`, { token: owner.token });
  if (removal.status !== 204) throw new Error(`not deleted: ${removal.status}`);
  return {
    api,
    issuer,
    organizations: { own, foreign, deleted, missing: createId() },
    people: people as Record<Role, Person>,
    outsider,
    staff,
    foreignChildren,
    async close() {
      await api.request("DELETE", `/api/v1/organizations/${foreign}/clusters/${foreignChildren.clusterID}`, {
        token: outsider.token,
      });
      await api.close();
      issuer.close();
    },
  };
}

/** One record of every kind in the foreign organization, by the name of its path parameter. */
async function createForeignChildren(
  api: TestApp,
  issuer: TestIssuer,
  foreign: string,
  outsider: Person,
): Promise<Record<string, string>> {
  const path = `/api/v1/organizations/${foreign}/clusters`;
  const { token } = outsider;
  const pool = { name: "foreign", vcpus: 1, memory_gb: 2, disk_gb: 10, desired_nodes: 0 };
  const cluster = await api.request("POST", path, {
    token,
    body: { name: "foreign", k8s_version: "1.34", node_pools: [pool] },
  });
  const pools = await api.request("GET", `${path}/${cluster.body.id}/nodepools`, { token });
  const accessID = createId();
  await createAccessObject(api.deps, {
    metadata: { namespace: `org-${foreign}`, name: "foreign", labels: { [LABEL_ID]: accessID } },
    spec: {
      clusterName: (await findCluster(api.deps.db, foreign, cluster.body.id))?.name,
      subject: outsider.userId,
      ttlSeconds: 86_400,
      csr: (await createClientKey(outsider.userId, accessID)).csr,
    },
  });
  const apiToken = await mintFor(api.deps, outsider, foreign, { role: "viewer", scopes: ["clusters:read"] });
  const invitation = await api.request("POST", `/api/v1/organizations/${foreign}/members`, {
    token,
    body: { email: "invited@example.com", role: "viewer" },
  });
  const webhooks = `/api/v1/organizations/${foreign}/webhooks`;
  const webhook = await api.request("POST", webhooks, {
    token,
    body: { url: "https://hooks.example.com", events: ["*"] },
  });
  const delivery = await api.request("POST", `${webhooks}/${webhook.body.id}/test`, { token });
  const ticket = await api.request("POST", `/api/v1/organizations/${foreign}/tickets`, {
    token,
    body: VALID_BODIES.createTicket,
  });
  const invoiceID = await insertTestInvoice(api.deps.db, foreign);
  return {
    accessID,
    ticketID: ticket.body.id,
    attachmentID: await insertTestAttachment(api.deps, foreign, ticket.body.id),
    webhookID: webhook.body.id,
    deliveryID: delivery.body.id,
    invitationID: invitation.body.id,
    memberID: await addPerson(api.deps, foreign, await issuer.createPerson(), "member"),
    tokenID: apiToken.id,
    invoiceID,
    creditNoteID: await insertTestCreditNote(api.deps.db, foreign, invoiceID),
    clusterID: cluster.body.id,
    poolID: pools.body.items[0].id,
    name: "node-1",
    credentialID: await insertTestCredential(api.deps, foreign, cluster.body.id),
    ...(await pushAnyImage(api, foreign)),
  };
}

/** Calls an operation so that an allowed caller changes nothing: unknown children, no body, an If-Match that fails. */
export function call(
  { api, organizations }: SecurityFixture,
  operation: Operation,
  orgId: string,
  token: string | null,
  children: Record<string, string> = {},
): Promise<TestResponse> {
  const path = operation.path.replaceAll(/\{(.+?)\}/g, (_, name: string) =>
    name === "orgID" ? orgId : (children[name] ?? organizations.missing),
  );
  const headers = operation.method === "get" ? {} : { "if-match": '"never"' };
  return api.request(operation.method.toUpperCase(), path, {
    ...(token === null ? { as: null } : { token }),
    headers,
  });
}

/** "in", a refusal ("401", "403", "organization 404"), or what should not be. */
export type Outcome = string;

export function outcomeOf({ status, body }: TestResponse): Outcome {
  if (status === 401 || status === 403) return String(status);
  if (status === 404 && body.error?.message === "This organization does not exist.")
    return "organization 404";
  return status < 500 ? "in" : `unexpected ${status}`;
}

export interface OperationRow {
  operation: Operation;
  name: string;
  row: SecurityRow;
  /** Its path has `{orgID}`. */
  isInOrg: boolean;
}

/** Every operation with its row of the security table. */
export function listRows({ api }: SecurityFixture): OperationRow[] {
  return api.operations.map((operation) => {
    const row = SECURITY_ROWS[operation.operationId];
    if (row === undefined) throw new Error(`${operation.operationId} has no row in the security table`);
    return { operation, name: operation.operationId, row, isInOrg: operation.path.includes("{orgID}") };
  });
}

export interface Cell {
  cell: string;
  want: Outcome;
  got: Promise<TestResponse>;
}

/** Runs all cells of all operations and returns those that came out wrong; there must be some at all. */
export async function findWrongCells(
  fixture: SecurityFixture,
  cells: (row: OperationRow) => Cell[],
): Promise<string[]> {
  const wrong: string[] = [];
  let count = 0;
  for (const row of listRows(fixture)) {
    for (const { cell, want, got } of cells(row)) {
      const outcome = outcomeOf(await got);
      count += 1;
      if (outcome !== want) wrong.push(`${row.name}, ${cell}: ${outcome} instead of ${want}`);
    }
  }
  return count === 0 ? ["no cell was run"] : wrong;
}
