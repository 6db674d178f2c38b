import { EventSource } from "eventsource";
import { fetchConforming } from "../contract/openapi/conformance.ts";
import { findPlace } from "../contract/openapi/document.ts";
import type { operations } from "../contract/openapi/generated/client.ts";
import { rememberCreated } from "./left-clusters.ts";

/** A response of the API: the status, the headers and the parsed body (text where it is not JSON). */
export interface ApiResponse<T, S extends number = number> {
  status: S;
  headers: Headers;
  body: T;
}

export type OperationId = keyof operations;

type Responses<I extends OperationId> = operations[I]["responses"];
type BodyOf<R> = R extends { content: infer C }
  ? C extends { "application/json": infer Json }
    ? Json
    : C[keyof C]
  : undefined;

/** Every response that the document declares of an operation; `status` discriminates them. */
export type AnswerOf<I extends OperationId> = {
  [S in keyof Responses<I> & number]: ApiResponse<BodyOf<Responses<I>[S]>, S>;
}[keyof Responses<I> & number];

type PathOf<I extends OperationId> = operations[I]["parameters"] extends { path: infer P } ? P : unknown;
type RequestBodyOf<I extends OperationId> = operations[I] extends {
  requestBody: { content: { "application/json": infer B } };
}
  ? { body: B }
  : unknown;
/** The path parameters of an operation, and its `body` where it accepts one. */
export type Input<I extends OperationId> = PathOf<I> & RequestBodyOf<I>;

/** One event of a cluster's live feed. */
export interface FeedEvent {
  event: string;
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: a story reads whatever field it asserts on
  data: any;
}

/** An open live feed: every event so far, but for the states that it began with, and a way to end it. */
export interface Feed {
  events: FeedEvent[];
  /** The present state that it began with, each time it was opened. */
  states: FeedEvent[];
  /** How often it was opened: more than once when its client had to reconnect. */
  opened: number;
  close(): void;
}

/**
 * A user of the REST API. Every response is checked against the OpenAPI document; a request rejects when it does not
 * conform.
 */
export interface Tenant {
  /** Calls an operation of the document, with its types. */
  call<I extends OperationId>(operationId: I, input: Input<I>): Promise<AnswerOf<I>>;
  /** Sends any request, also an invalid one. `T` defaults to a loose record. */
  // biome-ignore lint/suspicious/noExplicitAny: see above
  request<T = any>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ApiResponse<T>>;
  follow(path: string): Feed;
}

/** A tenant who sends `token` with every request to `apiUrl`; paths begin after `/api/v1`. */
export function createTenant(apiUrl: string, token: string): Tenant {
  const authorization = `Bearer ${token}`;
  const send = async (method: string, url: string, body: unknown, headers: Record<string, string>) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const all = { authorization, ...type, ...headers };
    const response = await fetchConforming(url, { method, headers: all, ...sent });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") ?? false;
    const answer = {
      status: response.status,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : text,
    };
    rememberCreated(method, new URL(url).pathname, answer);
    return answer;
  };
  return {
    async call(operationId, input) {
      const { method, path } = findPlace(operationId);
      const { body, ...names } = input as Record<string, unknown>;
      const filled = path.replaceAll(/\{(.+?)\}/g, (_match, name: string) =>
        encodeURIComponent(String(names[name])),
      );
      return (await send(method, `${apiUrl}${filled}`, body, {})) as AnswerOf<typeof operationId>;
    },
    request: (method, path, body, headers = {}) => send(method, `${apiUrl}/api/v1${path}`, body, headers),
    follow(path) {
      const source = new EventSource(`${apiUrl}/api/v1${path}`, {
        async fetch(input, init) {
          const response = await fetch(input, { ...init, headers: { ...init.headers, authorization } });
          if (response.status !== 503) return response;
          // An error makes it connect again, as after a broken connection; a response with this status would end it for
          // ever.
          await response.body?.cancel();
          throw new Error("the feed is unavailable");
        },
      });
      const feed = {
        events: [] as FeedEvent[],
        states: [] as FeedEvent[],
        opened: 0,
        close: () => source.close(),
      };
      for (const name of ["system-event", "status", "gap", "bye", "deleted"]) {
        source.addEventListener(name, (message) => {
          const isState = name === "status" && feed.states.length < feed.opened;
          const data = message.data ? JSON.parse(message.data) : {};
          feed[isState ? "states" : "events"].push({ event: name, id: message.lastEventId, data });
        });
      }
      // A feed that has ended must not be reopened by the client's own retry, unless its replica shuts down.
      source.addEventListener("deleted", () => source.close());
      source.addEventListener("bye", ({ data }) => {
        if (JSON.parse(data).reason !== "shutting_down") source.close();
      });
      source.addEventListener("open", () => {
        feed.opened += 1;
      });
      return feed;
    },
  };
}

/** The body of a response with this status; throws an Error that shows any other response. */
export function expectStatus<A extends ApiResponse<unknown>, S extends A["status"]>(
  status: S,
  response: A,
): Extract<A, { status: S }>["body"] {
  if (response.status === status) return response.body as Extract<A, { status: S }>["body"];
  throw new Error(
    `expected ${status}, the API responded with ${response.status}: ${JSON.stringify(response.body)}`,
  );
}
