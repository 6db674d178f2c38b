import { z } from "zod";
import {
  defineTenantKind,
  listAllPages,
  type TenantClient,
  tenantList,
  tenantName,
  tenantNamespace,
} from "../tenant-client.ts";
import type { Finding } from "./upgrade-check.ts";

const configurationSchema = z.object({
  metadata: z.object({ name: tenantName }),
  webhooks: tenantList(
    z.object({
      name: tenantName,
      failurePolicy: z.string().optional(),
      clientConfig: z.object({
        service: z.object({ namespace: tenantNamespace, name: tenantName }).optional(),
      }),
      rules: tenantList(
        z.object({
          apiGroups: tenantList(z.string()).default([]),
          resources: tenantList(z.string()).default([]),
        }),
      ).default([]),
    }),
  ).default([]),
});
type TenantWebhook = z.output<typeof configurationSchema>["webhooks"][number];

const configurationKinds = ["Validating", "Mutating"].map((prefix) =>
  defineTenantKind(
    {
      group: "admissionregistration.k8s.io",
      version: "v1",
      kind: `${prefix}WebhookConfiguration`,
      plural: `${prefix.toLowerCase()}webhookconfigurations`,
      namespaced: false,
    },
    configurationSchema,
  ),
);

const endpointSliceKind = defineTenantKind(
  {
    group: "discovery.k8s.io",
    version: "v1",
    kind: "EndpointSlice",
    plural: "endpointslices",
    namespaced: true,
  },
  z.object({
    endpoints: tenantList(
      z.object({ conditions: z.object({ ready: z.boolean().nullish() }).optional() }),
    ).nullish(),
  }),
);

/** The webhooks with failurePolicy Fail whose Service has no endpoint; blocking where they are asked about pods or nodes. */
export async function* readWebhookChecks(client: Pick<TenantClient, "listPage">): AsyncGenerator<Finding> {
  const isServed = new Map<string, boolean>();
  for (const kind of configurationKinds) {
    for (const { metadata, webhooks } of await listAllPages(client, kind)) {
      for (const webhook of webhooks) {
        const { service } = webhook.clientConfig;
        if (webhook.failurePolicy === "Ignore" || service === undefined) continue;
        const key = `${service.namespace}/${service.name}`;
        const served = isServed.get(key) ?? (await hasEndpoint(client, service));
        isServed.set(key, served);
        if (served) continue;
        const object = { kind: kind.kind.kind, namespace: null, name: metadata.name };
        yield {
          check: {
            check: "webhook_without_endpoint",
            severity: isAskedAboutNodes(webhook) ? "blocking" : "warning",
            object,
            message: `The webhook ${webhook.name} refuses what it is asked about: its Service ${key} has no endpoint that is ready.`,
            fix: "Make the pods of the Service ready, set failurePolicy to Ignore, or delete the webhook.",
          },
        };
      }
    }
  }
}

async function hasEndpoint(
  client: Pick<TenantClient, "listPage">,
  service: { namespace: string; name: string },
): Promise<boolean> {
  const selector = `kubernetes.io/service-name=${service.name}`;
  const slices = await listAllPages(client, endpointSliceKind, selector, service.namespace);
  return slices.some(({ endpoints }) => endpoints?.some(({ conditions }) => conditions?.ready !== false));
}

/** Whether it is asked about pods or nodes, evictions included: without them no node is replaced. */
function isAskedAboutNodes({ rules }: TenantWebhook): boolean {
  return rules.some(
    ({ apiGroups, resources }) =>
      (apiGroups.includes("") || apiGroups.includes("*")) &&
      resources.some((resource) => /^(\*|pods|nodes)(\/|$)/.test(resource)),
  );
}
