import type { ServerResponse } from "node:http";
import type { Deps } from "../deps.ts";
import type { Principal } from "../http/authentication/principal.ts";
import { addRoute } from "../http/contract/add-route.ts";
import type { Router } from "../http/contract/router.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { isClusterServed } from "../projection/store.ts";
import { describeStream } from "./describe-stream.ts";
import { createFeed } from "./feed.ts";
import { createOpenStreams, type OpenStreams } from "./open-streams.ts";
import { cursorToPosition, positionToCursor } from "./position.ts";
import { presentEvent } from "./present-event.ts";
import { createReader } from "./reader.ts";
import { eventPage, eventQuery, ticketRecord } from "./schema.ts";
import { shareRuns } from "./share-runs.ts";
import { parseLastEventId } from "./sse.ts";
import { findEventRange, listEventsAfter } from "./store.ts";
import { type EventStream, openEventStream, type StreamWorld } from "./stream.ts";
import { createTicket } from "./tickets.ts";

const tag = "System events";
const STREAM = "/api/v1/organizations/{orgID}/clusters/{clusterID}/system-events";
const STREAM_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};

/** The live feed of a cluster, its history, and tickets for browsers. */
export function addSystemEventRoutes(router: Router, deps: Deps): void {
  addStream(router, deps);
  addTicket(router, deps);
}

function addStream(router: Router, deps: Deps): void {
  const world = createWorld(deps);
  const open = openStreamsOf(router, deps);
  addRoute(
    router,
    {
      method: "get",
      path: STREAM,
      operationId: "streamSystemEvents",
      tag,
      summary: "Stream what happens to a cluster",
      description:
        "An open stream of Server-Sent Events: `system-event` and `status`, `gap` when events after Last-Event-ID " +
        "are no longer kept, `deleted` and `bye` at its end. With `Accept: application/json`, a page of the history " +
        "of seven days. Browsers, which send no header of their own, open the stream with a ticket.",
      access: "system_events:read",
      acceptsTicket: true,
      query: eventQuery,
      responses: {
        200: {
          description: "The stream, or a page of the history.",
          body: eventPage,
          stream: describeStream(),
        },
      },
      errors: ["event_harvester_disabled"],
    },
    async (c, { orgId, params, query, origin: { principal } }) => {
      await requireFeed(deps, orgId, params.clusterID);
      if (wantsJson(c.req.header("accept")))
        return c.json(await readPage(deps, params.clusterID, query), 200);
      // The stream is the other form of the same answer, which the type of a JSON answer cannot say.
      if (c.req.method === "HEAD") return c.body(null, 200, STREAM_HEADERS) as never;
      const stream = await openStream(world, open, {
        principal,
        orgId,
        clusterId: params.clusterID,
        lastEventId: parseLastEventId(c.req.header("last-event-id") ?? query.last_event_id),
        connection: c.env?.outgoing,
      });
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

/** Apart from the handler, so that a stream holds nothing of its request as long as it is open: there are thousands. */
function openStream(
  world: StreamWorld,
  open: OpenStreams,
  { principal, orgId, clusterId, lastEventId, connection }: StreamRequest,
): Promise<EventStream> {
  return open.add(principal, orgId, (ends) =>
    openEventStream(world, {
      clusterId,
      lastEventId,
      expiresAtMs: principal.expiresAtMs,
      cutOff() {
        ends.onCutOff();
        connection?.destroy();
      },
      onClosed: () => ends.onClosed(),
    }),
  );
}

function addTicket(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${STREAM}/ticket`,
      operationId: "createStreamTicket",
      tag,
      summary: "Make a ticket to open the stream with",
      description:
        "For browsers, whose EventSource sends no Authorization header: a ticket opens this cluster's stream once, " +
        "within 30 s, on any replica, with the rights of whoever made it. The stream ends when the credential that " +
        "made the ticket does. To come back, make another ticket and send `last_event_id`.",
      access: "system_events:read",
      responses: {
        201: {
          description: "The ticket, shown this once.",
          body: ticketRecord,
          headers: ["Location"],
        },
      },
      errors: ["event_harvester_disabled"],
    },
    async (c, { orgId, params, origin: { principal }, runOnce }) => {
      await requireFeed(deps, orgId, params.clusterID);
      return runOnce({ secret: true }, async () => {
        const path = STREAM.replace("{orgID}", orgId).replace("{clusterID}", params.clusterID);
        const { text, expiresAt } = await createTicket(deps.db, principal, path);
        return c.json({ ticket: text, expires_at: expiresAt.toISOString() }, 201, {
          Location: path,
          "Cache-Control": "no-store",
        });
      });
    },
  );
}

/** Throws 404 without the cluster, then 503 when the feed is switched off. */
async function requireFeed(deps: Deps, orgId: string, clusterId: string): Promise<void> {
  if (!(await isClusterServed(deps.db, orgId, clusterId))) throw notFound("cluster");
  if (deps.config.systemEvents.isEnabled) return;
  throw new ApiError(
    "event_harvester_disabled",
    "The live feed of clusters is switched off on this service.",
  );
}

function createWorld(deps: Deps): StreamWorld {
  const reader = createReader(deps.db);
  return {
    reader,
    feed: createFeed(deps, reader),
    readRange: shareRuns(() => findEventRange(deps.db)),
    now: () => deps.now().getTime(),
  };
}

function openStreamsOf(router: Router, deps: Deps): OpenStreams {
  return createOpenStreams({
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

/** The stream is the default; JSON has to be asked for and no stream beside it. */
function wantsJson(accept = ""): boolean {
  return accept.includes("application/json") && !accept.includes("text/event-stream");
}
