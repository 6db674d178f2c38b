import { type OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import { type Access, needsMembership } from "../authorization/guard.ts";
import { scopeOf } from "../authorization/permissions.ts";
import { conditionSchema, type FileForm, type Operation, type ResponseSpec } from "../contract/operation.ts";
import { idSchema } from "../contract/validate.ts";
import type { ErrorCode } from "../errors.ts";
import { DEFAULT_REQUEST_LIMITS } from "../limits.ts";
import { COMMON_HEADERS, describeErrors, headerRefs } from "./components.ts";

const { maxIdempotencyKeysPerUser } = DEFAULT_REQUEST_LIMITS;
const EXAMPLE_ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";

type Registry = OpenAPIHono["openAPIRegistry"];
type Responses = RouteConfig["responses"];

/** Adds an operation to the document, with every status that it can return. */
export function documentOperation(registry: Registry, operation: Operation): void {
  for (const { stream } of Object.values(operation.responses)) {
    for (const [name, schema] of Object.entries(stream?.schemas ?? {})) registry.register(name, schema);
  }
  registry.registerPath({
    method: operation.method,
    path: operation.path,
    operationId: operation.operationId,
    tags: [operation.tag],
    summary: operation.summary,
    description: operation.description ?? `${operation.summary}.`,
    security: [
      ...describeSecurity(operation.access),
      ...(operation.acceptsStreamTicket === true ? [{ ticket: [] }] : []),
    ],
    request: describeRequest(operation),
    responses: { ...describeResponses(operation), ...describeErrors(errorsOf(operation)) },
  });
}

/** Any one of these is enough: a user with one of the permissions, or a token with one of the scopes. */
function describeSecurity(access: Access): NonNullable<RouteConfig["security"]> {
  if (access === "signed-in") return [{ bearer: [] }, { apiToken: [] }];
  if (access === "user" || access === "platform-admin")
    return [{ bearer: access === "user" ? [] : [access] }];
  const permissions = typeof access === "string" ? [access] : access;
  const scopes = new Set(permissions.flatMap((permission) => scopeOf(permission) ?? []));
  return [
    ...permissions.map((permission) => ({ bearer: [permission] })),
    ...[...scopes].map((scope) => ({ apiToken: [scope] })),
  ];
}

function describeRequest(operation: Operation): NonNullable<RouteConfig["request"]> {
  const names = [...operation.path.matchAll(/\{(.+?)\}/g)].map((match) => match[1] ?? "");
  const params = Object.fromEntries(
    names.map((name) => [name, operation.params?.[name] ?? describeId(name)]),
  );
  return {
    ...(names.length === 0 ? {} : { params: z.object(params) }),
    ...(operation.query === undefined ? {} : { query: asObject(operation.query) }),
    ...describeRequestHeaders(operation),
    ...(operation.body === undefined
      ? {}
      : { body: { required: true, content: { "application/json": { schema: operation.body } } } }),
  };
}

const PARAMETER_NAMES: Readonly<Record<string, string>> = {
  orgID: "organization",
  poolID: "node pool",
  tokenID: "API token",
};

function describeId(name: string): z.ZodType {
  const what = PARAMETER_NAMES[name] ?? name.replace(/ID$/, "");
  return idSchema.openapi({ description: `The id of the ${what}.`, example: EXAMPLE_ID });
}

function asObject(query: z.ZodType): z.ZodObject {
  if (query instanceof z.ZodObject) return query;
  throw new Error("a query is described by an object schema");
}

function describeRequestHeaders(operation: Operation): { headers: z.ZodObject } | undefined {
  const shape: Record<string, z.ZodType> = {};
  if (operation.method === "post") {
    shape["Idempotency-Key"] = z
      .string()
      .regex(/^[\x21-\x7e]{1,255}$/)
      .max(255)
      .optional()
      .openapi({
        description: `Requests with the same key are carried out once. Kept for 24 h; a user with all API tokens can have ${maxIdempotencyKeysPerUser} of them by default, and one more is 429.`,
      });
  }
  const codes = operation.errors ?? [];
  if (codes.includes("precondition_failed")) {
    shape["If-Match"] = conditionSchema.optional().openapi({
      description: "The ETag of the version to change; 412 if the record has another one.",
    });
    shape["If-None-Match"] = conditionSchema.optional().openapi({
      description: "`*` is 412 if the record exists, an ETag if the record has it.",
    });
  }
  if (304 in operation.responses) {
    shape["If-None-Match"] = conditionSchema.optional().openapi({
      description: "The ETag of a version that the client has; 304 if the record has not changed.",
    });
  }
  if (Object.values(operation.responses).some(({ stream }) => stream !== undefined)) {
    shape["Last-Event-ID"] = z
      .string()
      .max(255)
      .optional()
      .openapi({
        description:
          "Resume the stream after this event; browsers send it by themselves. A value that is no position of this " +
          "feed is answered with `gap`.",
        example: "4710",
      });
  }
  return Object.keys(shape).length === 0 ? undefined : { headers: z.object(shape) };
}

/** The error codes of an operation: its own, and those that follow from its method, path, body and access. */
function errorsOf(operation: Operation): ErrorCode[] {
  const codes: ErrorCode[] = ["bad_request", "internal", ...(operation.errors ?? [])];
  codes.push("unauthorized", "rate_limited", "dependency_unavailable");
  if (operation.access !== "signed-in") codes.push("forbidden");
  if (operation.path.includes("{")) codes.push("not_found");
  if (operation.method === "post") codes.push("operation_in_progress");
  // An organization that is being deleted refuses every change.
  if (operation.method === "post" || (operation.method !== "get" && needsMembership(operation.access)))
    codes.push("conflict");
  if (operation.body !== undefined) {
    if (operation.method === "post") codes.push("idempotency_key_reused");
    codes.push("request_timeout", "payload_too_large", "unsupported_media_type", "validation_failed");
  }
  return codes;
}

function describeResponses(operation: Operation): Responses {
  return Object.fromEntries(
    Object.entries(operation.responses).map(([status, response]) => [
      status,
      describeResponse(operation, response),
    ]),
  );
}

function describeResponse({ method }: Operation, response: ResponseSpec): Responses[string] {
  const headers = [...COMMON_HEADERS, ...(response.headers ?? [])];
  if (method === "post") headers.push("Idempotency-Replayed");
  // Generators that take one form take the first: a stream is what its operation is for.
  const content = {
    ...(response.stream === undefined
      ? {}
      : { [response.stream.mediaType]: describeStream(response.stream) }),
    ...describeBody(response),
    ...Object.fromEntries((response.files ?? []).map((file) => [file.mediaType, describeFile(file)])),
  };
  return {
    description: response.description,
    headers: headerRefs(headers),
    ...(Object.keys(content).length === 0 ? {} : { content }),
  };
}

function describeBody({ body, bodyExample, mediaType = "application/json", ...file }: ResponseSpec) {
  const example = bodyExample === undefined ? {} : { example: bodyExample };
  if (body !== undefined) return { [mediaType]: { schema: body, ...example } };
  return mediaType === "application/json" ? {} : { [mediaType]: describeFile(file) };
}

/** For a file of any length: every text has a bound in the document, and generators take no higher one. */
const MAX_INT32 = 2_147_483_647;

function describeFile({
  description,
  isBinary = false,
  isStreamed = false,
  ...file
}: Omit<FileForm, "mediaType">) {
  const { maxLength = isStreamed ? MAX_INT32 : undefined, example } = file;
  const schema = {
    type: "string" as const,
    description,
    ...(isBinary && { format: "binary" }),
    ...(maxLength === undefined ? {} : { maxLength }),
  };
  return { schema, ...(example === undefined ? {} : { example }) };
}

function describeStream({ schema, examples }: NonNullable<ResponseSpec["stream"]>) {
  return { schema, examples };
}
