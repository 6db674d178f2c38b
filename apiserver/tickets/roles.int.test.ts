import { beforeAll, expect, test } from "vitest";
import { mintFor } from "../api-tokens/testing.ts";
import type { Role } from "../http/authorization/permissions.ts";
import { addPerson, makeOrganization, type TestOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { createTicketRequests, TICKET } from "./testing.ts";

const { api, issuer } = setUpTestService();
let requests: ReturnType<typeof createTicketRequests>;
beforeAll(async () => {
  const staff = await issuer.createStaff();
  requests = createTicketRequests(api, staff);
});

async function addMember(org: TestOrganization, role: Role) {
  const person = await issuer.createPerson();
  await addPerson(api.deps, org.id, person, role);
  return person;
}

/** Expects what a member who may see only billing tickets can do with one of each kind. */
async function expectBillingOnly(org: TestOrganization, token: string) {
  const [billing, other] = [await requests.open(org, { category: "billing" }), await requests.open(org)];
  const send = (method: string, path: string, body?: object) =>
    api.request(method, `${org.path}/tickets${path}`, { token, ...(body === undefined ? {} : { body }) });
  expect((await send("GET", "")).body.items).toMatchObject([{ id: billing }]);
  expect((await send("GET", "?category=cluster")).body.items).toEqual([]);
  expect((await send("GET", `/${billing}`)).status).toBe(200);
  expect((await send("GET", `/${billing}/messages`)).body.items).toHaveLength(1);
  expect((await send("POST", `/${billing}/messages`, { body: "More." })).status).toBe(201);
  const refused = [
    await send("GET", `/${other}`),
    await send("GET", `/${other}/messages`),
    await send("POST", `/${other}/messages`, { body: "More." }),
    await send("PUT", `/${other}`, { status: "closed" }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  const foreign = await send("POST", "", TICKET);
  expect([foreign.status, foreign.body.error.code]).toEqual([403, "forbidden"]);
  expect((await send("POST", "", { ...TICKET, category: "billing" })).status).toBe(201);
  expect((await send("PUT", `/${billing}`, { status: "closed" })).status).toBe(200);
  expect((await requests.send(org, "GET", `/${other}`)).body.status).toBe("open");
  expect((await requests.send(org, "GET", `/${other}/messages`)).body.items).toHaveLength(1);
}

test("the role billing reads, opens, answers and closes tickets about billing alone", async () => {
  const org = await makeOrganization(api, issuer);
  await expectBillingOnly(org, (await addMember(org, "billing")).token);
});

test("so does an API token of that role, whoever created it", async () => {
  const org = await makeOrganization(api, issuer);
  const { text } = await mintFor(api.deps, org.owner, org.id, { role: "billing", scopes: ["tickets:write"] });
  await expectBillingOnly(org, text);
});

test("so does an API token of any role whose creator has that role now", async () => {
  const org = await makeOrganization(api, issuer);
  const person = await addMember(org, "billing");
  const { text } = await mintFor(api.deps, person, org.id, { role: "owner", scopes: ["tickets:write"] });
  await expectBillingOnly(org, text);
});

test("a viewer reads tickets of all categories, and changes none", async () => {
  const org = await makeOrganization(api, issuer);
  const id = await requests.open(org);
  const { token } = await addMember(org, "viewer");
  expect((await api.request("GET", `${org.path}/tickets`, { token })).body.items).toMatchObject([{ id }]);
  const write = { token, body: { body: "More." } };
  expect((await api.request("POST", `${org.path}/tickets/${id}/messages`, write)).status).toBe(403);
});

test("a ticket that leaves the category billing is 404 for the role billing from then on", async () => {
  const org = await makeOrganization(api, issuer);
  const { token } = await addMember(org, "billing");
  const id = await requests.open(org, { category: "billing" });
  await requests.asStaff("PUT", `/${id}`, { category: "cluster" });
  expect((await api.request("GET", `${org.path}/tickets/${id}`, { token })).status).toBe(404);
});

test("what an API token opens and writes has no user as its author, and the token in the audit log", async () => {
  const org = await makeOrganization(api, issuer);
  const token = await mintFor(api.deps, org.owner, org.id, { role: "member", scopes: ["tickets:write"] });
  const ticket = await api.request("POST", `${org.path}/tickets`, { token: token.text, body: TICKET });
  expect(ticket.body.created_by).toBeNull();
  const path = `${org.path}/tickets/${ticket.body.id}/messages`;
  await api.request("POST", path, { token: token.text, body: { body: "More." } });
  const { items } = (await api.request("GET", path, { token: token.text })).body;
  expect(items).toMatchObject([
    { author_id: null, author_type: "tenant" },
    { author_id: null, author_type: "tenant" },
  ]);
  const audit = await requests.readAudit(ticket.body.id);
  expect(audit.map(({ actor }) => actor)).toMatchObject([
    { kind: "token", tokenId: token.id },
    { kind: "token", tokenId: token.id },
  ]);
});
