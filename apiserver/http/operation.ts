import type { z } from "@hono/zod-openapi";
import type { TypedResponse } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { JSONParsed } from "hono/utils/types";
import type { ErrorCode } from "./errors.ts";
import type { Access } from "./guard.ts";

/** What the headers of answers say, for the document. */
export const ANSWER_HEADERS = {
  ETag: "The version of the record; send it as If-Match to change just this version.",
  Location: "Where the record is.",
  "Retry-After": "Seconds after which to ask again.",
  "Content-Disposition": "The name to store the file under.",
  "WWW-Authenticate": "How to authenticate.",
} as const;

export type AnswerHeader = keyof typeof ANSWER_HEADERS;

/** One answer of an operation: JSON when it has a `body`, another media type, or nothing at all. */
export interface Answer {
  description: string;
  body?: z.ZodType;
  mediaType?: string;
  headers?: readonly AnswerHeader[];
}

/** One operation: all that the OpenAPI document says of it, and all that is checked before its handler. */
export interface Operation<
  P extends string = string,
  A extends Access = Access,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  R = Readonly<Record<number, Answer>>,
> {
  method: "get" | "post" | "put" | "delete";
  /** The full path with `{name}` parameters, as in the OpenAPI document. */
  path: P;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  access: A;
  /** Schemas of the path parameters that are not UUIDs. */
  params?: Readonly<Record<string, z.ZodType<string>>>;
  /** A strict object; without it any query parameter is refused. */
  query?: Q;
  body?: B;
  answers: R;
  /** Codes beyond those that follow from access, path, query and body. */
  errors?: readonly ErrorCode[];
}

/** `{orgID}` and the like of a path. */
export type PathParams<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { [K in Name]: string } & PathParams<Rest>
  : unknown;

/** What a handler may return: JSON of the declared schema with its declared status, or an answer without JSON. */
export type AnswerOf<R> =
  | {
      [S in keyof R & ContentfulStatusCode]: R[S] extends { body: infer T extends z.ZodType }
        ? Response & TypedResponse<JSONParsed<z.output<T>>, S, "json">
        : Response;
    }[keyof R & ContentfulStatusCode]
  | EmptyAnswer;

type EmptyAnswer = Response & TypedResponse<null, 204 | 304, "body">;
