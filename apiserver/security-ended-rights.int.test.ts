import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterAccessKind } from "../shared/crd/cluster-access.ts";
import { LABEL_USER_ID } from "../shared/crd/names.ts";
import { mintFor } from "./api-tokens/testing.ts";
import { keepSigned, makeReady } from "./cluster-accesses/testing.ts";
import type { Sql } from "./db/client.ts";
import { countLockWaits } from "./db/testing.ts";
import type { Operation } from "./http/contract/operation.ts";
import { renderOpenApi } from "./openapi/render.ts";
import type { ProjectedCluster } from "./resources/project/index.ts";
import { startTestApp, type TestApp } from "./testing/app.ts";
import {
  addPerson,
  makeOrganization,
  type Person,
  startTestIssuer,
  type TestIssuer,
} from "./testing/issuer.ts";
import { listOperations } from "./testing/operation-cases.ts";

/** Permissions whose writes decide who may do what or where events are sent, or hand out a credential. */
const GRANTING = [
  "members:",
  "api_tokens:",
  "clusters:access",
  "webhooks:create",
  "webhooks:update",
  "webhooks:rotate_secret",
];
const READING = ["members:read", "api_tokens:read"];
/** Those that grant nothing: they end or show existing accesses, or send to an endpoint that gets events already. */
const GRANT_NOTHING = [
  "revokeClusterAccess",
  "listClusterAccesses",
  "getClusterAccess",
  "testWebhook",
  "redeliverWebhookEvent",
  "recoverWebhook",
];

const BODIES: Record<string, object> = {
  inviteMember: { email: "new@example.com", role: "viewer" },
  updateMember: { role: "admin" },
  createApiToken: { name: "example", role: "viewer", scopes: ["clusters:read"] },
  createRegistryCredential: { cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11" },
  issueKubeconfig: { ttl_seconds: 3600 },
  createWebhook: { url: "https://hooks.example.com", events: ["*"] },
  updateWebhook: { events: ["cluster.ready"] },
};

let issuer: TestIssuer;
let api: TestApp;
let orgId: string;
let owner: Person;
let cluster: ProjectedCluster;
let webhookID: string;

beforeAll(async () => {
  issuer = await startTestIssuer();
  api = await startTestApp({ issuers: [issuer.config], registry: {} });
  ({ id: orgId, owner } = await makeOrganization(api, issuer));
  const body = { name: "Opened", k8s_version: "1.34", plan: "scale" };
  const created = await api.request("POST", `/api/v1/organizations/${orgId}/clusters`, {
    token: owner.token,
    body,
  });
  cluster = await makeReady(api.deps, orgId, created.body.id);
  const webhook = await api.request("POST", `/api/v1/organizations/${orgId}/webhooks`, {
    token: owner.token,
    body: BODIES.createWebhook,
  });
  webhookID = webhook.body.id;
});
afterAll(async () => {
  const path = `/api/v1/organizations/${orgId}/clusters/${cluster.id}`;
  await api.request("DELETE", path, { token: owner.token });
  await api.close();
  issuer.close();
});

const documented = listOperations(renderOpenApi());
const granting = documented.filter(
  ({ permissions, operationId, method }) =>
    operationId === "createRegistryCredential" ||
    (permissions.some((one) => GRANTING.some((prefix) => one.startsWith(prefix)) && !READING.includes(one)) &&
      !GRANT_NOTHING.includes(operationId) &&
      (method !== "GET" || operationId === "getKubeconfig")),
);

/** The request of a caller whose right to it ends while it is under way, and who that is. */
interface EndingRequest {
  path: string;
  token: string;
  userId: string;
  /** Default: that of the operation. */
  body?: object;
  /** Ends the right, in the transaction that holds the organization's row lock. */
  end: (sql: Sql) => Promise<unknown>;
}

async function addOwner(): Promise<Person & { memberId: string }> {
  const person = await issuer.createPerson();
  return { ...person, memberId: await addPerson(api.deps, orgId, person, "owner") };
}

async function fill(path: string, operationId: string, caller: Person): Promise<string> {
  const target = await issuer.createPerson();
  const memberID = await addPerson(api.deps, orgId, target, "viewer");
  if (operationId === "resendInvitation")
    await api.deps
      .sql`update members set user_id = null, accepted_at = null, expires_at = now() + interval '1 day'
      where id = ${memberID}`;
  const { id: tokenID } = await mintFor(api.deps, caller, orgId, {
    role: "viewer",
    scopes: ["clusters:read"],
  });
  const ids: Record<string, string> = { orgID: orgId, memberID, tokenID, clusterID: cluster.id, webhookID };
  return path.replaceAll(/\{(.+?)\}/g, (_match, name: string) => ids[name] ?? "");
}

/** Sends the request while another transaction holds the organization's row lock, ends the right in it, and commits. */
async function endUnderWay(operation: { method: string; operationId: string }, request: EndingRequest) {
  const { method, operationId } = operation;
  const { body = BODIES[operationId] } = request;
  const { sent, before } = await api.deps.sql.begin(async (tx) => {
    await tx`select from organizations where id = ${orgId} for no key update`;
    const sent = api.request(method, request.path, {
      token: request.token,
      ...(body === undefined ? {} : { body }),
    });
    const waiting = new AbortController();
    const signed = keepSigned(api.deps, cluster.namespace, request.userId, waiting.signal);
    await waitForLock();
    waiting.abort();
    await signed;
    await request.end(tx as unknown as Sql);
    // In an object: a promise that is returned would be awaited before the commit.
    return { sent, before: await snapshot(tx as unknown as Sql) };
  });
  return { response: await sent, before };
}

/** Until a request waits for a row that another transaction has locked. */
async function waitForLock(): Promise<void> {
  while ((await countLockWaits(api.deps.sql)) === 0) await sleep(20);
}

/** Everything that these operations write, but for the time at which a token was last used. */
async function snapshot(sql: Sql): Promise<unknown> {
  const [row] = await sql`select
    (select json_agg(m order by id) from members m where org_id = ${orgId}) as members,
    (select json_agg(w order by id) from webhooks w where org_id = ${orgId}) as webhooks,
    (select json_agg(w order by id) from webhook_secrets w where org_id = ${orgId}) as secrets,
    (select json_agg(to_jsonb(t) - 'last_used_at' order by id) from api_tokens t where org_id = ${orgId}) as tokens,
    (select json_agg(a.id order by id) from audit_log a where org_id = ${orgId}) as audit`;
  return row;
}

async function listAccessesOf(userId: string) {
  const accesses = await api.deps.kube.listAll(clusterAccessKind, {
    namespace: cluster.namespace,
    labelSelector: `${LABEL_USER_ID}=${userId}`,
  });
  return accesses.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

test("every operation that grants rights reads the caller's rights again", () => {
  const declared = api.operations.filter(({ recheckAccess }: Operation) => recheckAccess === true);
  expect(declared.map(({ operationId }) => operationId).toSorted()).toEqual(
    granting.map(({ operationId }) => operationId).toSorted(),
  );
});

describe.each(granting.map((operation) => [operation.operationId, operation] as const))(
  "%s",
  (_id, operation) => {
    test("of a member who is removed while it is under way is 403, and writes nothing", async () => {
      const caller = await addOwner();
      const { response, before } = await endUnderWay(operation, {
        path: await fill(operation.path, operation.operationId, caller),
        token: caller.token,
        userId: caller.userId,
        end: (sql) => sql`delete from members where id = ${caller.memberId}`,
      });
      expect([response.status, response.body.error?.code]).toEqual([403, "forbidden"]);
      expect(await snapshot(api.deps.sql)).toEqual(before);
      expect(await listAccessesOf(caller.userId)).toEqual([]);
    });

    test("of a member who loses the role while it is under way is 403, and writes nothing", async () => {
      // The permission to leave stays with every role: what a viewer may not do is remove others.
      const caller = await addOwner();
      const { response, before } = await endUnderWay(operation, {
        path: await fill(operation.path, operation.operationId, caller),
        token: caller.token,
        userId: caller.userId,
        end: (sql) => sql`update members set role = 'viewer' where id = ${caller.memberId}`,
      });
      expect([response.status, response.body.error?.code]).toEqual([403, "forbidden"]);
      expect(await snapshot(api.deps.sql)).toEqual(before);
      expect(await listAccessesOf(caller.userId)).toEqual([]);
    });
  },
);

const byToken = granting.filter(({ operationId }) => operationId.endsWith("Kubeconfig"));
const ENDS: Record<string, (sql: Sql, id: string) => Promise<unknown>> = {
  revoked: (sql, id) => sql`update api_tokens set revoked_at = now() where id = ${id}`,
  rotated: (sql, id) => sql`update api_tokens set version = version + 1 where id = ${id}`,
  expired: (sql, id) => sql`update api_tokens set expires_at = now() where id = ${id}`,
};

describe.each(byToken.map((operation) => [operation.operationId, operation] as const))(
  "%s",
  (_id, operation) => {
    test.each(Object.keys(ENDS))(
      "of a token that is %s while it is under way is 403, and writes nothing",
      async (end) => {
        const caller = await addOwner();
        const token = await mintFor(api.deps, caller, orgId, { role: "member", scopes: ["clusters:access"] });
        const { response, before } = await endUnderWay(operation, {
          path: await fill(operation.path, operation.operationId, caller),
          token: token.text,
          userId: caller.userId,
          end: async (sql) => ENDS[end]?.(sql, token.id),
        });
        expect([response.status, response.body.error?.code]).toEqual([403, "forbidden"]);
        expect(await snapshot(api.deps.sql)).toEqual(before);
        expect(await listAccessesOf(caller.userId)).toEqual([]);
      },
    );
  },
);

test("a token of a creator who loses a role while it is being created gets no permission of that role", async () => {
  const caller = await addOwner();
  const { response, before } = await endUnderWay(
    { method: "POST", operationId: "createApiToken" },
    {
      path: `/api/v1/organizations/${orgId}/api-tokens`,
      token: caller.token,
      userId: caller.userId,
      body: { name: "example", role: "owner", scopes: ["clusters:read"] },
      end: (sql) => sql`update members set role = 'admin' where id = ${caller.memberId}`,
    },
  );
  expect([response.status, response.body.error?.code]).toEqual([403, "forbidden"]);
  expect(await snapshot(api.deps.sql)).toEqual(before);
});
