import type { ServerResponse } from "node:http";
import type { Deps } from "../deps.ts";
import { type FeedKey, findEventRanges, listEventsAfter } from "../events/feed.ts";
import type { Principal } from "../http/authentication/principal.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { acceptedType, JSON_TYPE } from "../http/contract/download.ts";
import { cursorToPosition, cutPage, type PageRequest, positionToCursor } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { findClusterStates, isClusterServed } from "../resources/project/index.ts";
import { presentEvent } from "./present.ts";
import { eventPage, eventQuery, streamTicketRecord } from "./schema.ts";
import { createBroadcaster } from "./stream/broadcaster.ts";
import { coalesceKeys } from "./stream/coalesce.ts";
import { createEventReader } from "./stream/event-reader.ts";
import { type EventStream, openEventStream, type StreamDeps } from "./stream/event-stream.ts";
import { parseLastEventId } from "./stream/sse.ts";
import { createStreamRegistry, type StreamRegistry } from "./stream/stream-registry.ts";
import { describeStream } from "./stream-schema.ts";
import { createStreamTicket } from "./stream-tickets.ts";

const tag = "System events";
const COLLECTION = "/api/v1/organizations/{orgID}/clusters/{clusterID}/system-events";
const EVENT_STREAM = "text/event-stream";
/**
 * The connection of a stream is not used again: when a replica stops, thousands of streams end just before their
 * connections are closed, and a request that is sent into one of them then fails.
 */
const STREAM_HEADERS = {
  Connection: "close",
  "Content-Type": EVENT_STREAM,
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};

/** The live feed of a cluster, its history, and stream tickets for browsers. */
export function addSystemEventRoutes(router: Router<Deps>, deps: Deps): void {
  addStream(router, deps);
  addStreamTicket(router);
}

function addStream(router: Router<Deps>, deps: Deps): void {
  const streamDeps = createStreamDeps(deps);
  const registry = createRegistry(router, deps);
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "streamSystemEvents",
      tag,
      summary: "Stream the events of a cluster",
      description:
        "A stream of Server-Sent Events: first the present state of the cluster, as a `status` without an id, then " +
        "`system-event` and `status`, `gap` when events after Last-Event-ID are no longer available, `deleted` or " +
        "`bye` at its end. With `Accept: application/json`, a page of the history of " +
        "seven days. Browsers, whose EventSource cannot send headers, open the stream with a ticket.",
      access: "system_events:read",
      acceptsStreamTicket: true,
      query: eventQuery,
      responses: {
        200: {
          description: "The stream, or a page of the history, the oldest first.",
          body: eventPage,
          stream: describeStream(),
        },
      },
      errors: ["event_harvester_disabled"],
    },
    async (c, { deps, orgId, params, query, author: { principal } }) => {
      const lastEventId = parseLastEventId(c.req.header("last-event-id") ?? query.last_event_id);
      await requireFeed(deps, orgId, params.clusterID);
      if (acceptedType(c, [EVENT_STREAM, JSON_TYPE]) === JSON_TYPE)
        return c.json(await readPage(deps, { orgId, clusterId: params.clusterID }, query), 200);
      const connection = c.env?.outgoing;
      const request = { principal, orgId, clusterId: params.clusterID, lastEventId, connection };
      const stream = c.req.method === "HEAD" ? undefined : await openStream(streamDeps, registry, request);
      // The stream is the other form of the same response, which the type of a JSON response cannot express.
      if (stream === undefined) return c.body(null, 200, STREAM_HEADERS) as never;
      return c.body(stream.body, 200, STREAM_HEADERS) as never;
    },
  );
}

interface StreamRequest {
  principal: Principal;
  orgId: string;
  clusterId: string;
  lastEventId: number | undefined;
  connection: ServerResponse | undefined;
}

/** Outside the handler, so that none of the thousands of open streams keeps its request in memory. */
function openStream(
  deps: StreamDeps,
  registry: StreamRegistry,
  { principal, orgId, clusterId, lastEventId, connection }: StreamRequest,
): Promise<EventStream> {
  return registry.add(principal, orgId, (callbacks) =>
    openEventStream(deps, {
      orgId,
      clusterId,
      lastEventId,
      expiresAtMs: principal.expiresAtMs,
      disconnect() {
        callbacks.onDisconnected();
        connection?.destroy();
      },
      onClosed: () => callbacks.onClosed(),
    }),
  );
}

function addStreamTicket(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${COLLECTION}/ticket`,
      operationId: "createStreamTicket",
      tag,
      summary: "Create a ticket for the stream",
      description:
        "For browsers, whose EventSource sends no Authorization header: a ticket opens this cluster's stream once, " +
        "within 30 s, on any replica, with the permissions of its creator. The stream ends when the credential that " +
        "created the ticket expires. To resume, create another ticket and send `last_event_id`.",
      access: "system_events:read",
      responses: {
        201: {
          description: "The ticket, which is returned only once.",
          body: streamTicketRecord,
          headers: ["Location"],
        },
      },
      errors: ["event_harvester_disabled"],
    },
    async (c, { deps, orgId, params, author: { principal }, transact }) => {
      await requireFeed(deps, orgId, params.clusterID);
      const path = COLLECTION.replace("{orgID}", orgId).replace("{clusterID}", params.clusterID);
      return transact(
        (tx) => createStreamTicket(tx, principal, path),
        ({ text, expiresAt }) =>
          c.json({ ticket: text, expires_at: expiresAt.toISOString() }, 201, {
            Location: path,
            "Cache-Control": "no-store",
          }),
        { secret: true },
      );
    },
  );
}

/** Throws 404 without the cluster, then 503 when the feed is switched off. */
async function requireFeed(deps: Deps, orgId: string, clusterId: string): Promise<void> {
  if (!(await isClusterServed(deps.db, orgId, clusterId))) throw notFound("cluster");
  if (deps.config.systemEvents.isEnabled) return;
  throw new ApiError("event_harvester_disabled", "The live feed of clusters is disabled on this service.");
}

function createStreamDeps(deps: Deps): StreamDeps {
  const reader = createEventReader(deps.db);
  const findRange = coalesceKeys((clusterIds) => findEventRanges(deps.db, clusterIds));
  const findState = coalesceKeys((clusterIds) => findClusterStates(deps.db, clusterIds));
  const readRange = async (clusterId: string) => (await findRange(clusterId)) ?? { oldest: 0, newest: 0 };
  return {
    reader,
    broadcaster: createBroadcaster(deps, reader, readRange),
    readRange,
    async readState({ orgId, clusterId }) {
      const state = await findState(clusterId);
      return state?.orgId === orgId ? state : undefined;
    },
    now: () => deps.now().getTime(),
  };
}

function createRegistry(router: Router, deps: Deps): StreamRegistry {
  return createStreamRegistry({
    limits: () => deps.config.systemEvents,
    async mayRead(principal, orgId) {
      const membership = await router.access.findMembership(principal, orgId);
      return membership?.rights.has("system_events:read") === true;
    },
    now: () => deps.now().getTime(),
    metrics: deps.metrics,
    log: deps.log,
    draining: () => deps.draining,
  });
}

async function readPage(deps: Deps, feed: FeedKey, { cursor, limit }: PageRequest) {
  const position = cursor === undefined ? 0 : cursorToPosition(cursor);
  if (position === undefined)
    throw new ApiError("bad_request", "The query parameter cursor is not a cursor of this list.", {
      details: [{ field: "cursor", code: "invalid_format", message: "must be a next_cursor of this list" }],
    });
  const rows = await listEventsAfter(deps.db, feed, position, limit + 1);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const cursorOf = ({ id }: { id: number }) => positionToCursor(id);
  const next = rows.length > limit && last !== undefined ? cursorOf(last) : null;
  return cutPage(shown, { present: presentEvent, cursorOf, next });
}
