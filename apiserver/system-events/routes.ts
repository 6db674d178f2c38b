import { describeDatabaseError } from "../db/errors.ts";
import type { Deps } from "../deps.ts";
import type { OrganizationCall } from "../http/call.ts";
import type { Router } from "../http/env.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { addRoute } from "../http/routes.ts";
import { findCluster } from "../projection/store.ts";
import { createFeed, type Feed } from "./feed.ts";
import { cursorToPosition, positionToCursor } from "./position.ts";
import { presentEvent } from "./present-event.ts";
import { toResponseBody } from "./response-body.ts";
import { eventPage, eventQuery } from "./schema.ts";
import { parseLastEventId } from "./sse.ts";
import { type EventRow, findEventRange, listEventsAfter } from "./store.ts";
import { streamEvents } from "./stream.ts";

const STREAM_EXAMPLE = 'id: 4711\nevent: status\ndata: {"id":4711,"status":"running"}\n\n';

/** The live feed of a cluster, and its history. */
export function addSystemEventRoutes(router: Router, deps: Deps): void {
  const feed = createFeed(deps);
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations/{orgID}/clusters/{clusterID}/system-events",
      operationId: "streamSystemEvents",
      tag: "System events",
      summary: "Stream what happens to a cluster",
      description:
        "An open stream of Server-Sent Events: `system-event` and `status`, `gap` when events after Last-Event-ID " +
        "are no longer kept, `deleted` and `bye` at its end. With `Accept: application/json`, a page of the history.",
      access: "system_events:read",
      query: eventQuery,
      answers: {
        200: {
          description: "The stream, or a page of the history.",
          body: eventPage,
          stream: {
            mediaType: "text/event-stream",
            description:
              "Server-Sent Events; `data` is the JSON of one event, and comments keep the line open.",
            example: STREAM_EXAMPLE,
          },
        },
      },
      errors: ["event_harvester_disabled"],
    },
    async (c, call) => {
      const cluster = await findCluster(deps.db, call.orgId, call.params.clusterID);
      if (cluster === undefined) throw notFound("cluster");
      if (wantsJson(c.req.header("accept"))) return c.json(await readPage(deps, cluster.id, call.query), 200);
      const lastEventId = parseLastEventId(c.req.header("last-event-id") ?? call.query.last_event_id);
      const cutOff = () => c.env.outgoing?.destroy();
      const stream = openStream({ router, deps, feed }, call, {
        clusterId: cluster.id,
        lastEventId,
        cutOff,
      });
      const response = c.body(stream, 200, {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-cache, no-transform",
        "X-Accel-Buffering": "no",
      });
      // The stream is the other form of the same answer, which the type of a JSON answer cannot say.
      return response as never;
    },
  );
}

interface PageRequest {
  cursor?: string | undefined;
  limit: number;
}

async function readPage(deps: Deps, clusterId: string, { cursor, limit }: PageRequest) {
  const position = cursor === undefined ? 0 : cursorToPosition(cursor);
  if (position === undefined)
    throw new ApiError("bad_request", "The query parameter cursor is none of this list.", {
      details: [{ field: "cursor", code: "invalid_format", message: "must be a next_cursor of this list" }],
    });
  const rows = await listEventsAfter(deps.db, clusterId, position, limit + 1);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(presentEvent),
    next_cursor: rows.length > limit && last !== undefined ? positionToCursor(last.id) : null,
  };
}

interface World {
  router: Router;
  deps: Deps;
  feed: Feed;
}

interface Wish {
  clusterId: string;
  lastEventId: number | undefined;
  /** Closes the client's connection. */
  cutOff: () => void;
}

function openStream(
  { router, deps, feed }: World,
  { orgId, origin: { principal } }: Pick<OrganizationCall<unknown, unknown, unknown>, "orgId" | "origin">,
  { clusterId, lastEventId, cutOff }: Wish,
): ReadableStream<Uint8Array> {
  const source = {
    feed,
    clusterId,
    lastEventId,
    expiresAtMs: principal.expiresAtMs,
    now: () => deps.now().getTime(),
    readRange: () => findEventRange(deps.db),
    readAfter: (position: number, limit: number): Promise<EventRow[]> =>
      listEventsAfter(deps.db, clusterId, position, limit),
    isClusterGone: async () => (await findCluster(deps.db, orgId, clusterId)) === undefined,
    mayRead: async () => {
      const membership = await router.access.findMembership(principal, orgId);
      return membership?.rights.has("system_events:read") === true;
    },
    closing: deps.draining,
  };
  return toResponseBody((signal) => streamEvents(source, signal), {
    onFailure: (error) =>
      deps.log.warn(
        { clusterId, message: describeDatabaseError(error)?.message ?? String(error) },
        "a stream broke",
      ),
    cutOff,
  });
}

/** The stream is the default; JSON has to be asked for and no stream beside it. */
function wantsJson(accept = ""): boolean {
  return accept.includes("application/json") && !accept.includes("text/event-stream");
}
