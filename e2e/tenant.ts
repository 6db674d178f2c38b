import { EventSource } from "eventsource";

/** What the API answered: the status, the headers and the parsed body (text where it is not JSON). */
export interface Answer<T> {
  status: number;
  headers: Headers;
  body: T;
}

/** One event of a cluster's live feed, as the stream carried it. */
export interface FeedEvent {
  event: string;
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: a story reads whatever field it asserts on
  data: any;
}

/** An open live feed: every event so far, and a way to end it. */
export interface Feed {
  events: FeedEvent[];
  close(): void;
}

/** A user of the REST API. `T` defaults to a loose record: stories assert on fields, schemas are tested elsewhere. */
export interface Tenant {
  // biome-ignore lint/suspicious/noExplicitAny: see above
  request<T = any>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<T>>;
  follow(path: string): Feed;
}

/** A tenant who sends `token` with every request to `apiUrl`; paths begin after `/api/v1`. */
export function createTenant(apiUrl: string, token: string): Tenant {
  const authorization = `Bearer ${token}`;
  return {
    async request(method, path, body, headers = {}) {
      const response = await fetch(`${apiUrl}/api/v1${path}`, {
        method,
        headers: {
          authorization,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.includes("json") ?? false;
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    },
    follow(path) {
      const source = new EventSource(`${apiUrl}/api/v1${path}`, {
        fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization } }),
      });
      const events: FeedEvent[] = [];
      for (const name of ["system-event", "status", "gap", "bye", "deleted"]) {
        source.addEventListener(name, (message) =>
          events.push({
            event: name,
            id: message.lastEventId,
            data: message.data ? JSON.parse(message.data) : {},
          }),
        );
      }
      // A feed that ended for good must not be opened again by the client's own retry.
      for (const last of ["bye", "deleted"]) source.addEventListener(last, () => source.close());
      return { events, close: () => source.close() };
    },
  };
}
