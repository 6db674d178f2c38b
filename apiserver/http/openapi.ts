import { type OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import { DETAIL_CODES, ERROR_CODES, type ErrorCode, statusOf } from "./errors.ts";
import type { Access } from "./guard.ts";
import { ANSWER_HEADERS, type Answer, type AnswerHeader, type Operation } from "./operation.ts";
import { idSchema } from "./validate.ts";

/** Every answer that is not 2xx or 3xx has this body. */
export const errorSchema = z
  .object({
    error: z.object({
      code: z
        .enum(ERROR_CODES)
        .openapi({ description: "Stable and machine-readable; one code has one status." }),
      message: z.string().openapi({ description: "A sentence for people; it may change." }),
      details: z
        .array(
          z.object({
            field: z.string().openapi({ example: "node_pools[0].vcpus" }),
            code: z.enum(DETAIL_CODES),
            message: z.string(),
          }),
        )
        .optional(),
      request_id: z.string(),
    }),
  })
  .openapi("Error", {
    example: {
      error: {
        code: "not_found",
        message: "This cluster does not exist.",
        request_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
      },
    },
  });

type Registry = OpenAPIHono["openAPIRegistry"];
type Responses = RouteConfig["responses"];

/** Adds an operation to the document, with every status that it can answer. */
export function documentOperation(registry: Registry, operation: Operation): void {
  registry.registerPath({
    method: operation.method,
    path: operation.path,
    operationId: operation.operationId,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    security: operation.access === "anyone" ? [] : [{ bearer: scopesOf(operation.access) }],
    request: describeRequest(operation),
    responses: { ...describeAnswers(operation.answers), ...describeErrors(errorsOf(operation)) },
  });
}

function scopesOf(access: Access): string[] {
  if (access === "signed-in" || access === "anyone") return [];
  return typeof access === "string" ? [access] : [...access];
}

function describeRequest(operation: Operation): NonNullable<RouteConfig["request"]> {
  const names = [...operation.path.matchAll(/\{(.+?)\}/g)].map((match) => match[1] ?? "");
  const params = Object.fromEntries(names.map((name) => [name, operation.params?.[name] ?? idSchema]));
  return {
    ...(names.length === 0 ? {} : { params: z.object(params) }),
    ...(operation.query === undefined ? {} : { query: asObject(operation.query) }),
    ...describeRequestHeaders(operation),
    ...(operation.body === undefined
      ? {}
      : { body: { required: true, content: { "application/json": { schema: operation.body } } } }),
  };
}

function asObject(query: z.ZodType): z.ZodObject {
  if (query instanceof z.ZodObject) return query;
  throw new Error("a query is described by an object schema");
}

function describeRequestHeaders(operation: Operation): { headers: z.ZodObject } | undefined {
  const shape: Record<string, z.ZodType> = {};
  if (operation.method === "post") {
    shape["Idempotency-Key"] = z.string().min(1).max(255).optional().openapi({
      description: "Repeat a request with the same key and it is carried out once. Kept for 24 h.",
    });
  }
  const codes = operation.errors ?? [];
  if (codes.includes("precondition_failed")) {
    shape["If-Match"] = z.string().optional().openapi({ description: "The ETag of the version to change." });
  }
  if (304 in operation.answers) {
    shape["If-None-Match"] = z
      .string()
      .optional()
      .openapi({ description: "The ETag of the version at hand." });
  }
  return Object.keys(shape).length === 0 ? undefined : { headers: z.object(shape) };
}

/** The codes of an operation: those that follow from its form, and its own. */
function errorsOf(operation: Operation): ErrorCode[] {
  const codes: ErrorCode[] = [
    "bad_request",
    "internal",
    "dependency_unavailable",
    ...(operation.errors ?? []),
  ];
  if (operation.access === "anyone") return codes;
  codes.push("unauthorized", "rate_limited");
  if (operation.access !== "signed-in") codes.push("forbidden");
  if (operation.path.includes("{")) codes.push("not_found");
  if (operation.method === "post") {
    codes.push("operation_in_progress", "idempotency_key_reused", "conflict");
  }
  if (operation.body !== undefined) {
    codes.push("payload_too_large", "unsupported_media_type", "validation_failed");
  }
  return codes;
}

function describeAnswers(answers: Operation["answers"]): Responses {
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer)]),
  );
}

function describeAnswer(answer: Answer): Responses[string] {
  const mediaType = answer.mediaType ?? "application/json";
  const schema = answer.body ?? (answer.mediaType === undefined ? undefined : z.string());
  return {
    description: answer.description,
    ...(answer.headers === undefined ? {} : { headers: describeHeaders(answer.headers) }),
    ...(schema === undefined ? {} : { content: { [mediaType]: { schema } } }),
  };
}

function describeErrors(codes: readonly ErrorCode[]): Responses {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of ERROR_CODES) {
    if (!codes.includes(code)) continue;
    byStatus.set(statusOf(code), [...(byStatus.get(statusOf(code)) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      status,
      {
        description: names.map((name) => `\`${name}\``).join(", "),
        headers: describeHeaders(headersOfStatus(status)),
        content: { "application/json": { schema: errorSchema } },
      },
    ]),
  );
}

function headersOfStatus(status: number): AnswerHeader[] {
  if (status === 401) return ["WWW-Authenticate"];
  return status === 429 || status === 503 ? ["Retry-After"] : [];
}

function describeHeaders(names: readonly AnswerHeader[]) {
  return Object.fromEntries(
    names.map((name) => [name, { description: ANSWER_HEADERS[name], schema: { type: "string" as const } }]),
  );
}
