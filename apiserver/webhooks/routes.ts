import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified } from "../http/contract/etag.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { addEventCatalogueRoutes } from "./catalogue-routes.ts";
import {
  createWebhook,
  deleteWebhook,
  requireEndpoint,
  requireKeys,
  rotateWebhookSecret,
  updateWebhook,
  type WebhookWithSecret,
} from "./changes.ts";
import { addDeliveryRoutes, addResendRoutes } from "./delivery-routes.ts";
import { presentAdminWebhook, presentWebhook, webhookTag } from "./present.ts";
import {
  adminWebhookListQuery,
  adminWebhookPage,
  createWebhookBody,
  updateWebhookBody,
  webhookListQuery,
  webhookPage,
  webhookRecord,
  webhookWithSecretRecord,
} from "./schema.ts";
import { listWebhooks, lockWebhook, requireWebhook } from "./store.ts";

const tag = "Webhooks";
const COLLECTION = "/api/v1/organizations/{orgID}/webhooks";
const RECORD = `${COLLECTION}/{webhookID}`;

/** Operations on webhooks, their secrets and their deliveries, and the catalogue of events. */
export function addWebhookRoutes(router: Router<Deps>): void {
  addCreate(router);
  addReads(router);
  addUpdate(router);
  addDelete(router);
  addSecretRoutes(router);
  addResendRoutes(router);
  addDeliveryRoutes(router);
  addEventCatalogueRoutes(router);
  addAdminWebhookRoutes(router);
}

function addReads(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listWebhooks",
      tag,
      summary: "List webhooks",
      access: "webhooks:read",
      query: webhookListQuery,
      responses: { 200: { description: "A page, ordered by creation.", body: webhookPage } },
    },
    async (c, { deps, orgId, query }) => {
      const rows = await listWebhooks(deps.db, orgId, query);
      return c.json(toPage(rows, query.limit, presentWebhook), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getWebhook",
      tag,
      summary: "Get a webhook",
      access: "webhooks:read",
      responses: {
        200: { description: "The webhook, without its secret.", body: webhookRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, orgId, params }) => {
      const webhook = await requireWebhook(deps.db, orgId, params.webhookID);
      const etag = webhookTag(webhook);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentWebhook(webhook), 200, { ETag: etag });
    },
  );
}

function addCreate(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createWebhook",
      tag,
      summary: "Create a webhook",
      description:
        "Events of its organization are sent to the endpoint as POST requests, signed as Standard Webhooks describes, at least once and in no fixed order. A response of 2xx within 15 s is a success; else there are seven more attempts within some 28 hours.",
      access: "webhooks:create",
      body: createWebhookBody,
      responses: {
        201: {
          description: "Created; the secret is only in this response.",
          body: webhookWithSecretRecord,
          headers: ["Location", "ETag"],
        },
      },
      errors: ["quota_exceeded"],
    },
    async (c, { deps, orgId, author, readBody, transact }) => {
      const keys = requireKeys(deps);
      const body = await readBody();
      await requireEndpoint(deps, body.url);
      return transact(
        async (tx, { id }) => {
          const { maxPerOrganization: maxWebhooks } = deps.config.webhooks;
          return createWebhook(tx, author, orgId, { id, ...body, createdAt: deps.now(), maxWebhooks, keys });
        },
        (created) => c.json(presentWithSecret(created), 201, secretHeaders(created)),
        { secret: true },
      );
    },
  );
}

function addUpdate(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "updateWebhook",
      tag,
      summary: "Update a webhook",
      description:
        "Partial: omitted fields are unchanged. A disabled webhook gets no deliveries of further events, and those that are pending wait; when it is enabled again they are sent, unless they are older than 72 h. What was missed meanwhile can be recovered.",
      access: "webhooks:update",
      body: updateWebhookBody,
      responses: {
        200: { description: "The webhook, without its secret.", body: webhookRecord, headers: ["ETag"] },
      },
      errors: ["precondition_failed"],
    },
    async (c, { deps, orgId, author, params, readBody, change }) => {
      requireKeys(deps);
      const known = await requireWebhook(deps.db, orgId, params.webhookID);
      const body = await readBody();
      if (body.url !== undefined && body.url !== known.url) await requireEndpoint(deps, body.url);
      const { url, description, events, enabled } = body;
      const webhook = await change({
        lock: (tx) => lockWebhook(tx, orgId, params.webhookID),
        tag: webhookTag,
        immutable: ({ id }) => ({ id, org_id: orgId }),
        apply: (tx, before) =>
          updateWebhook(tx, author, before, { url, description, events, enabled }, deps.now()),
      });
      return c.json(presentWebhook(webhook), 200, { ETag: webhookTag(webhook) });
    },
  );
}

function addDelete(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "deleteWebhook",
      tag,
      summary: "Delete a webhook",
      description: "Nothing that is pending is sent any more.",
      access: "webhooks:delete",
      responses: { 204: { description: "Deleted." } },
      errors: ["precondition_failed"],
    },
    async (c, { deps, orgId, author, params, change }) => {
      await change({
        lock: (tx) => lockWebhook(tx, orgId, params.webhookID),
        tag: webhookTag,
        apply: (tx, before) => deleteWebhook(tx, author, before, deps.now()),
      });
      return c.body(null, 204);
    },
  );
}

/** The webhooks of all organizations, for the platform's staff. */
function addAdminWebhookRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/admin/webhooks",
      operationId: "listAdminWebhooks",
      tag: "Platform administration",
      summary: "List the webhooks of all organizations",
      description: "Of each endpoint only the host: a URL can carry a secret.",
      access: "platform-admin",
      query: adminWebhookListQuery,
      responses: { 200: { description: "A page, in the order of creation.", body: adminWebhookPage } },
    },
    async (c, { deps, query: { org_id: orgId, ...query } }) => {
      const rows = await listWebhooks(deps.db, orgId, query);
      return c.json(toPage(rows, query.limit, presentAdminWebhook), 200);
    },
  );
}

/** The rotation of signing secrets. */
function addSecretRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "post",
      path: "/api/v1/organizations/{orgID}/webhooks/{webhookID}/rotate-secret",
      operationId: "rotateWebhookSecret",
      tag: "Webhooks",
      summary: "Rotate the signing secret of a webhook",
      description:
        "For 24 h more, each delivery carries a signature of the replaced secret too, at most of the five that were replaced last.",
      access: "webhooks:rotate_secret",
      responses: {
        200: {
          description: "The webhook; the secret is only in this response.",
          body: webhookWithSecretRecord,
          headers: ["Location", "ETag"],
        },
      },
    },
    async (c, { deps, orgId, author, params, transact }) => {
      const keys = requireKeys(deps);
      await requireWebhook(deps.db, orgId, params.webhookID);
      return transact(
        async (tx) => {
          const webhook = await lockWebhook(tx, orgId, params.webhookID);
          return rotateWebhookSecret(tx, author, webhook, { keys, at: deps.now() });
        },
        (rotated) => c.json(presentWithSecret(rotated), 200, secretHeaders(rotated)),
        { secret: true },
      );
    },
  );
}

/** The wire form of a webhook with its secret. */
function presentWithSecret({ webhook, secret }: WebhookWithSecret) {
  return { ...presentWebhook(webhook), secret };
}

/** The headers of a response with a secret. */
function secretHeaders({ webhook }: WebhookWithSecret) {
  return {
    Location: `/api/v1/organizations/${webhook.orgId}/webhooks/${webhook.id}`,
    ETag: webhookTag(webhook),
    "Cache-Control": "no-store",
  };
}
