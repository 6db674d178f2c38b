import { z } from "@hono/zod-openapi";
import type { TypedResponse } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { JSONParsed } from "hono/utils/types";
import type { Access } from "../authorization/guard.ts";
import type { ErrorCode } from "../errors.ts";
import type { RateClass } from "../limits.ts";

/** An entity tag (RFC 9110 section 8.8.3) in ASCII; it may hold commas. */
export const TAG_PATTERN = '(?:W/)?"[\\x21\\x23-\\x7e]*"';
const MEMBER = `[\\t ]*(?:${TAG_PATTERN}[\\t ]*)?`;
/** `*` alone, or a list of tags, whose empty members are ignored (sections 13.1 and 5.6.1.2). */
const CONDITION = new RegExp(`^(?:[\\t ]*\\*[\\t ]*|${MEMBER}(?:,${MEMBER})*)$`);

/** If-Match and If-None-Match: ETags of this API are visible ASCII. */
export const conditionSchema = z
  .string()
  .max(1024)
  .regex(/^[\t\x20-\x7e]*$/)
  .refine((header) => CONDITION.test(header));

const VISIBLE_ASCII = "^[\\x20-\\x7e]*$";

/** The response headers, as the document describes them. */
export const RESPONSE_HEADERS = {
  "X-Request-Id": header(
    "The id of this request, a new UUID. One that the client sent is recorded with it in the audit log.",
    36,
  ),
  ETag: header("The version of the record; send it as If-Match to change only this version.", 64, '"3-4711"'),
  Location: header("The path of the record.", 512),
  /** `Location` of a redirect. */
  RedirectLocation: header("Where to go.", 8192),
  "Retry-After": {
    description: "Seconds after which to retry.",
    schema: { type: "integer" as const, minimum: 0, maximum: 86_400, example: 10 },
  },
  "Content-Disposition": header("The name to store the file under.", 1024),
  "WWW-Authenticate": header("How to authenticate (RFC 6750).", 512, 'Bearer realm="marina"'),
  RateLimit: header(
    "What remains: `r` requests, and `t` seconds until the quota is full again. Absent without a valid credential.",
    256,
    '"default";r=599;t=1',
  ),
  "RateLimit-Policy": header(
    "The quotas that apply: `q` requests at once, a full quota again after `w` seconds.",
    256,
    '"default";q=600;w=12',
  ),
  "Idempotency-Replayed": header("`true` when this is the stored response to an earlier request.", 4, "true"),
};

function header(description: string, maxLength: number, example?: string) {
  const shown = example === undefined ? {} : { example };
  return { description, schema: { type: "string" as const, maxLength, pattern: VISIBLE_ASCII, ...shown } };
}

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** A form of a response that is a file: a text, or bytes. */
export interface FileForm {
  mediaType: string;
  isBinary?: boolean;
  /** It has any length: written while it is read, see stream-file.ts. */
  isStreamed?: boolean;
  description: string;
  /** In characters, or in bytes. */
  maxLength?: number | undefined;
  example?: string;
}

/** One response of an operation: JSON when it has a `body`, another media type, or no content. */
export interface ResponseSpec {
  description: string;
  body?: z.ZodType;
  /** A body, where it differs from the example of its schema. */
  bodyExample?: object;
  mediaType?: string;
  /** The maximum length of a text response. */
  maxLength?: number;
  /** A second form of the response, by Accept: a stream of events. */
  stream?: {
    mediaType: string;
    /** The schema of one event, as in `itemSchema` of OpenAPI 3.2. */
    schema: z.ZodType;
    examples: Readonly<Record<string, { summary: string; value: object }>>;
    /** Schemas of the events that only the description names. */
    schemas?: Readonly<Record<string, z.ZodType>>;
  };
  /** Further forms, by Accept. */
  files?: readonly FileForm[];
  headers?: readonly ResponseHeader[];
}

/** One operation: everything in the OpenAPI document, and everything checked before its handler. */
export interface Operation<
  P extends string = string,
  A extends Access = Access,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  R = Readonly<Record<number, ResponseSpec>>,
> {
  method: "get" | "post" | "put" | "delete";
  /** The full path with `{name}` parameters, as in the OpenAPI document. */
  path: P;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  access: A;
  /** The stricter quota that its requests are counted in besides; most follow from `access`: see rate-limit.ts. */
  rateClass?: RateClass;
  /** An operation of the platform's staff on what outlives the organization in its path, such as an invoice. */
  outlivesOrganization?: true;
  /** A stream ticket, for one use, in the query parameter `ticket` stands in for an Authorization header. */
  acceptsStreamTicket?: true;
  /** Schemas of the path parameters that are not UUIDs. */
  params?: Readonly<Record<string, z.ZodType<string>>>;
  /** A strict object; without it any query parameter is refused. */
  query?: Q;
  body?: B;
  responses: R;
  /** Codes beyond those that follow from access, path, query and body. */
  errors?: readonly ErrorCode[];
}

/** `{orgID}` and the like of a path. */
export type PathParams<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { [K in Name]: string } & PathParams<Rest>
  : unknown;

/** What a handler may return: JSON of the declared schema with its declared status, or a response without JSON. */
export type ResponseOf<R> =
  | {
      [S in keyof R & ContentfulStatusCode]: R[S] extends { body: infer T extends z.ZodType }
        ? Response & TypedResponse<JSONParsed<z.output<T>>, S, "json">
        : Response;
    }[keyof R & ContentfulStatusCode]
  | EmptyResponse;

type EmptyResponse = Response & TypedResponse<null, 204 | 304, "body">;
