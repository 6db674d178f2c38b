import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { mapGroup } from "../../members/groups/testing.ts";
import { renderOpenApi } from "../../openapi/render.ts";
import { insertTestCredential, pushAnyImage } from "../../registry/testing.ts";
import { holdKey, startTestApp, type TestResponse } from "../../testing/app.ts";
import {
  type BodySchema,
  bodyOf,
  boundFaults,
  type DocumentedOperation,
  listOperations,
  typeFaults,
  unfitBody,
  VALID_BODIES,
} from "../../testing/operation-cases.ts";
import { insertTestAttachment, testStorage } from "../../tickets/attachments/testing.ts";
import { hasPermission, type Permission } from "../authorization/permissions.ts";

/** One table for every operation of the document: an operation that is added is tested here without another line. */
const operations = listOperations(renderOpenApi());
const MISSING = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const api = setUp(() => startTestApp({ registry: {}, attachmentStorage: testStorage() }));
let ids: Record<string, string>;

beforeAll(async () => {
  const orgID = await api.createOrganization("alice");
  await api.addMember(orgID, "staff", "viewer");
  const clusters = `/api/v1/organizations/${orgID}/clusters`;
  const cluster = await api.request("POST", clusters, {
    body: { ...VALID_BODIES.createCluster, node_pools: [VALID_BODIES.createNodePool] },
  });
  const pools = await api.request("GET", `${clusters}/${cluster.body.id}/nodepools`);
  const organization = `/api/v1/organizations/${orgID}`;
  const members = await api.request("GET", `${organization}/members`);
  const token = await api.request("POST", `${organization}/api-tokens`, {
    body: VALID_BODIES.createApiToken,
  });
  const webhook = await api.request("POST", `${organization}/webhooks`, {
    body: { url: "https://hooks.example.com", events: ["*"] },
  });
  const { body: delivery } = await api.request("POST", `${organization}/webhooks/${webhook.body.id}/test`);
  const ticket = await api.request("POST", `${organization}/tickets`, { body: VALID_BODIES.createTicket });
  await api.request("PUT", `${organization}/billing/budget`, { body: VALID_BODIES.setBudget });
  ids = {
    orgID,
    userID: (await api.request("GET", "/api/v1/me")).body.principal.id,
    clusterID: cluster.body.id,
    poolID: pools.body.items[0].id,
    memberID: members.body.items[0].id,
    ...(await mapGroup(api.deps, "https://identity.example.com", orgID, "viewer")),
    tokenID: token.body.id,
    webhookID: webhook.body.id,
    deliveryID: delivery.id,
    ticketID: ticket.body.id,
    attachmentID: await insertTestAttachment(api.deps, orgID, ticket.body.id),
    name: "node-1",
    slug: "dev",
    credentialID: await insertTestCredential(api.deps, orgID, cluster.body.id),
    ...(await pushAnyImage(api, orgID)),
  };
});

afterAll(async () => {
  await api.request("DELETE", `/api/v1/organizations/${ids.orgID}/clusters/${ids.clusterID}`);
});

/** The path with the ids of the fixture; `changes` puts others in their place. */
function fill(path: string, changes: Record<string, string> = {}): string {
  return path.replaceAll(/\{(.+?)\}/g, (_match, name: string) => changes[name] ?? ids[name] ?? MISSING);
}

function errorResponse(status: number, code: string) {
  return { status, body: { error: { code, message: expect.any(String), request_id: expect.any(String) } } };
}

function withoutRequestId({ status, body }: TestResponse): unknown {
  return { status, error: { ...body.error, request_id: "" } };
}

const named = (list: DocumentedOperation[]) =>
  list.map((operation) => [operation.operationId, operation] as const);
const secured = operations.filter((operation) => operation.secured);
const isStaffPath = (path: string) => path.startsWith("/api/v1/admin/");
const callerOf = (path: string) => (isStaffPath(path) ? ("staff" as const) : ("alice" as const));
const inOrganization = operations.filter(({ path }) => path.includes("{orgID}") && !isStaffPath(path));
const ofStaff = operations.filter(({ path }) => isStaffPath(path) && path.includes("{orgID}"));
const withChildren = operations.filter(({ path }) => /\{(?!orgID)/.test(path));
const withIds = withChildren.filter(({ path }) => path.includes("ID}"));
const withBody = operations.filter(({ body }) => body !== undefined);

describe.each(named(secured))("%s asks who is calling", (_id, { method, path }) => {
  test("no credential is 401 and says how to authenticate", async () => {
    const response = await api.request(method, fill(path), { as: null });
    expect(response).toMatchObject(errorResponse(401, "unauthorized"));
    expect(response.headers.get("www-authenticate")).toContain("Bearer");
  });

  test("a worthless credential is 401, before anything else is looked at", async () => {
    const headers = { authorization: "Bearer worthless" };
    expect(await api.request(method, fill(path, { orgID: "nope" }), { headers })).toMatchObject(
      errorResponse(401, "unauthorized"),
    );
  });
});

describe.each(named(inOrganization))("%s keeps organizations apart", (_id, { method, path, permissions }) => {
  test("a malformed organization id is 400", async () => {
    expect(await api.request(method, fill(path, { orgID: "nope" }))).toMatchObject(
      errorResponse(400, "bad_request"),
    );
  });

  test("another's organization is 404, the same as a missing one", async () => {
    const foreign = await api.request(method, fill(path), { as: "bob" });
    expect(foreign).toMatchObject(errorResponse(404, "not_found"));
    const missing = await api.request(method, fill(path, { orgID: MISSING }), { as: "bob" });
    expect(withoutRequestId(foreign)).toEqual(withoutRequestId(missing));
  });

  test("a viewer is 403 exactly where the permission is missing", async () => {
    const allowed = permissions.some((permission) => hasPermission("viewer", permission as Permission));
    if (allowed) return;
    const response = await api.request(method, fill(path), { as: "staff", ...unfitBody(method) });
    expect(response).toMatchObject(errorResponse(403, "forbidden"));
    expect(response.body.error.message).toContain(permissions[0]);
  });
});

describe.each(named(ofStaff))("%s is for the platform's staff", (_id, { method, path }) => {
  test("anybody else is 403, before the path is looked at", async () => {
    const response = await api.request(method, fill(path, { orgID: "nope" }), { as: "alice" });
    expect(response).toMatchObject(errorResponse(403, "forbidden"));
  });

  test("a malformed organization id is 400, a missing one 404 before the body is looked at", async () => {
    const request = { as: "staff" as const, ...unfitBody(method) };
    expect(await api.request(method, fill(path, { orgID: "nope" }), request)).toMatchObject(
      errorResponse(400, "bad_request"),
    );
    expect(await api.request(method, fill(path, { orgID: MISSING }), request)).toMatchObject(
      errorResponse(404, "not_found"),
    );
  });
});

describe.each(named(withIds))("%s looks at the ids in its path", (_id, { method, path }) => {
  test("a malformed id is 400", async () => {
    const last = /.*\{(.+?ID)\}/.exec(path)?.[1] ?? "";
    const as = callerOf(path);
    expect(await api.request(method, fill(path, { [last]: "nope" }), { as })).toMatchObject(
      errorResponse(400, "bad_request"),
    );
  });
});

describe.each(named(withChildren))("%s looks at its path", (_id, { method, path }) => {
  test("a missing record is 404, before the body is looked at", async () => {
    const last = /.*\{(.+?)\}/.exec(path)?.[1] ?? "";
    const as = callerOf(path);
    const response = await api.request(method, fill(path, { [last]: MISSING }), { as, ...unfitBody(method) });
    expect(response).toMatchObject(errorResponse(404, "not_found"));
  });
});

describe.each(named(operations))("%s knows its query and its methods", (_id, { method, path }) => {
  test("an unknown query parameter is 400", async () => {
    const response = await api.request(method, `${fill(path)}?surprise=1`, { as: callerOf(path) });
    expect(response).toMatchObject(errorResponse(400, "bad_request"));
  });

  test("another method is 405 and lists the allowed ones", async () => {
    const response = await api.request("PATCH", fill(path));
    expect(response).toMatchObject(errorResponse(405, "method_not_allowed"));
    const methods = operations.filter((one) => one.path === path).map((one) => one.method);
    expect(response.headers.get("allow")?.replace(", HEAD", "")).toBe(methods.sort().join(", "));
  });
});

describe.each(named(withBody))("%s looks at its body", (_id, operation) => {
  const send = (rawBody: string | undefined, contentType: string | undefined = "application/json") =>
    api.request(operation.method, fill(operation.path), {
      as: callerOf(operation.path),
      ...(rawBody === undefined ? {} : { rawBody }),
      headers: contentType === "" ? {} : { "content-type": contentType },
    });
  const schema = operation.body as BodySchema;
  const valid = bodyOf(operation);

  test.each([
    ["no media type", "{}", "", 415, "unsupported_media_type"],
    ["another media type", "{}", "text/plain", 415, "unsupported_media_type"],
    ["a form", "a=b", "application/x-www-form-urlencoded", 415, "unsupported_media_type"],
    ["nothing at all", undefined, "application/json", 400, "bad_request"],
    ["blanks", "  ", "application/json", 400, "bad_request"],
    ["no JSON", '{"name":', "application/json", 400, "bad_request"],
    [
      "more than 256 KiB",
      JSON.stringify({ name: "x".repeat(262_144) }),
      "application/json",
      413,
      "payload_too_large",
    ],
    ["a list", "[]", "application/json; charset=utf-8", 422, "validation_failed"],
    ["null", "null", "application/json", 422, "validation_failed"],
    ["a text", '"x"', "application/json", 422, "validation_failed"],
  ])("%s", async (_case, text, contentType, status, code) => {
    expect(await send(text, contentType)).toMatchObject(errorResponse(status, code));
  });

  test.each(["gzip", "br", "gzip, identity"])("a body in %s is 415", async (encoding) => {
    const response = await api.request(operation.method, fill(operation.path), {
      as: callerOf(operation.path),
      body: valid,
      headers: { "content-encoding": encoding },
    });
    expect(response).toMatchObject(errorResponse(415, "unsupported_media_type"));
    expect(response.headers.get("accept-encoding")).toBe("identity");
  });

  const faults = [
    ...(schema.required ?? []).map((field) => ({ value: undefined, field, codes: ["required"] })),
    ...typeFaults(schema),
    ...boundFaults(schema),
    { field: "surprise", value: 1, codes: ["unknown_field"] },
  ];
  test.each(faults.map((fault) => [fault.field, fault.codes.join(" or "), fault] as const))(
    "%s is refused with %s",
    async (_field, _codes, { field, value, codes }) => {
      const response = await send(JSON.stringify({ ...valid, [field]: value }));
      expect(response).toMatchObject(errorResponse(422, "validation_failed"));
      const own = response.body.error.details.filter((detail: { field: string }) => detail.field === field);
      expect(own.map((detail: { code: string }) => detail.code)).toEqual(
        expect.arrayContaining([expect.stringMatching(new RegExp(`^(${codes.join("|")})$`))]),
      );
      const [first] = response.body.error.details;
      expect(response.body.error.message.startsWith(`${first.field}/${first.code}`)).toBe(true);
    },
  );
});

const returning = (status: string) => named(operations.filter(({ statuses }) => statuses.includes(status)));
const once = named(
  operations.filter(({ method, operationId }) => method === "POST" && operationId !== "replaceNode"),
);

describe("preconditions and keys", () => {
  test.each(returning("304"))("%s is 304 for a caller that has this version", async (_id, { path }) => {
    const read = (headers = {}) => api.request("GET", fill(path), { as: callerOf(path), headers });
    expect((await read()).status, `the beforeAll of this file makes no record for ${path}`).toBe(200);
    // Once more where the operator has reported other figures between the two.
    const readAgain = async () => read({ "if-none-match": (await read()).headers.get("etag") ?? "" });
    await expect.poll(readAgain).toMatchObject({ status: 304, body: "" });
  });

  // An access needs a running cluster: accesses.int.test.ts revokes one.
  const changing = returning("412").filter(([id]) => id !== "revokeClusterAccess");
  const failing = [{ "if-match": '"passed"' }, { "if-none-match": "*" }];
  test.each(changing)("%s is 412 for an old version and If-None-Match: *", async (_id, operation) => {
    const { method, path } = operation;
    const request = { as: callerOf(path), body: bodyOf(operation) } as const;
    for (const headers of failing) {
      const response = await api.request(method, fill(path), { ...request, headers });
      expect(response).toMatchObject(errorResponse(412, "precondition_failed"));
      expect(response.headers.get("etag")).toMatch(/^"/);
    }
  });

  const notTags = [["é"], [`"${"x".repeat(1024)}"`], ["x"], ['*, "1"'], ['w/"1"'], ['"1" "2"']];
  test.each(notTags)("a condition that is no ETag of this API is 400", async (value) => {
    const organization = fill("/api/v1/organizations/{orgID}");
    for (const name of ["if-match", "if-none-match"]) {
      const response = await api.request("GET", organization, { headers: { [name]: value } });
      const message = expect.stringContaining(`The header ${name} must be`);
      expect(response.body.error).toMatchObject({ code: "bad_request", message });
    }
  });

  test.each(once)("%s is 409 while the first request with its key runs", async (_id, operation) => {
    const [path, as, body] = [fill(operation.path), callerOf(operation.path), bodyOf(operation)];
    await holdKey(api, path, "held", { as, body });
    const response = await api.request("POST", path, { as, body, headers: { "idempotency-key": "held" } });
    expect(response).toMatchObject(errorResponse(409, "operation_in_progress"));
    expect(response.headers.get("retry-after")).toBe("1");
  });
});
