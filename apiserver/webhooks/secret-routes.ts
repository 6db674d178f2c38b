import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import type { Router } from "../http/contract/router.ts";
import { requireKeys, rotateWebhookSecret, type WebhookWithSecret } from "./changes.ts";
import { presentWebhook, webhookTag } from "./present.ts";
import { webhookWithSecretRecord } from "./schema.ts";
import { lockWebhook, requireWebhook } from "./store.ts";

/** The rotation of signing secrets. */
export function addSecretRoutes(router: Router, deps: Deps): void {
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
    async (c, { orgId, author, params, transact }) => {
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
export function presentWithSecret({ webhook, secret }: WebhookWithSecret) {
  return { ...presentWebhook(webhook), secret };
}

/** The headers of a response with a secret. */
export function secretHeaders({ webhook }: WebhookWithSecret) {
  return {
    Location: `/api/v1/organizations/${webhook.orgId}/webhooks/${webhook.id}`,
    ETag: webhookTag(webhook),
    "Cache-Control": "no-store",
  };
}
