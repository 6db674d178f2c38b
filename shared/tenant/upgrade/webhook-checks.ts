import { z } from "zod";
import { isLabelValue } from "../../crd/labels.ts";
import {
  defineTenantKind,
  listAllPages,
  type TenantClient,
  tenantList,
  tenantName,
} from "../tenant-client.ts";
import { type Finding, findOfOne, truncateName, type UpgradeCheck } from "./upgrade-check.ts";

/** Checked as one: some megabytes may be small entries alone. */
const texts = z.custom<string[]>(
  (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  "a list of texts is expected",
);
const endpoints = z.custom<{ conditions?: { ready?: unknown } | undefined }[]>(
  (value) => Array.isArray(value) && value.every((one) => typeof one === "object" && one !== null),
  "a list of endpoints is expected",
);

/** Whether a selector may leave something out: the API server gives a webhook without one an empty one. */
const isNarrow = z
  .object({
    matchLabels: z.custom<object>((value) => typeof value === "object" && value !== null).optional(),
    matchExpressions: z.custom<unknown[]>(Array.isArray).optional(),
  })
  .optional()
  .transform((selector) => isFilled(selector?.matchLabels) || (selector?.matchExpressions ?? []).length > 0);

const configurationSchema = z.object({
  metadata: z.object({ name: tenantName }),
  webhooks: tenantList(
    z.object({
      name: tenantName,
      failurePolicy: z.string().optional(),
      // Kubernetes takes any texts as the name of a Service and its namespace.
      clientConfig: z.object({ service: z.object({ namespace: z.string(), name: z.string() }).optional() }),
      namespaceSelector: isNarrow,
      objectSelector: isNarrow,
      matchConditions: z
        .custom<unknown[]>(Array.isArray)
        .optional()
        .transform((conditions = []) => conditions.length > 0),
      rules: tenantList(z.object({ apiGroups: texts, operations: texts, resources: texts })).default([]),
    }),
  ).default([]),
});
type TenantWebhook = z.output<typeof configurationSchema>["webhooks"][number];
type TenantService = NonNullable<TenantWebhook["clientConfig"]["service"]>;

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
  z.object({ endpoints: endpoints.nullish() }),
);

/**
 * The webhooks with failurePolicy Fail whose Service has no endpoint; blocking where one is asked about what the replacement
 * of a node writes, and leaves none of it out. One whose Service cannot be read is `unknown`, beside the others.
 */
export async function* readWebhookChecks(client: Pick<TenantClient, "listPage">): AsyncGenerator<Finding> {
  const served = new Map<string, Promise<boolean>>();
  for (const kind of configurationKinds) {
    for (const { metadata, webhooks } of await listAllPages(client, kind)) {
      const object = { kind: kind.kind.kind, namespace: null, name: metadata.name };
      for (const webhook of webhooks) {
        const { service } = webhook.clientConfig;
        if (webhook.failurePolicy === "Ignore" || service === undefined) continue;
        const key = `${service.namespace}/${service.name}`;
        const isServed = served.get(key) ?? hasEndpoint(client, service);
        served.set(key, isServed);
        const check = toCheck(object, webhook, key);
        yield* await findOfOne(object, async () => ((await isServed) ? [] : [{ check }]));
      }
    }
  }
}

async function hasEndpoint(
  client: Pick<TenantClient, "listPage">,
  { namespace, name }: TenantService,
): Promise<boolean> {
  // No Service and no Namespace can have another name.
  if (![namespace, name].every((one) => one !== "" && isLabelValue(one))) return false;
  const slices = await listAllPages(
    client,
    endpointSliceKind,
    `kubernetes.io/service-name=${name}`,
    namespace,
  );
  return slices.some(({ endpoints }) => endpoints?.some(({ conditions }) => conditions?.ready !== false));
}

function toCheck(object: UpgradeCheck["object"], webhook: TenantWebhook, service: string): UpgradeCheck {
  const asked = findAsked(webhook);
  const leftOut =
    asked === "partly"
      ? " Its selectors or matchConditions may leave out what the upgrade writes; whether they do was not looked at."
      : "";
  return {
    check: "webhook_without_endpoint",
    severity: asked === "always" ? "blocking" : "warning",
    object,
    message: `The webhook ${truncateName(webhook.name)} refuses what it is asked about: its Service ${truncateName(service)} has no endpoint that is ready.${leftOut}`,
    fix: "Make the pods of the Service ready, set failurePolicy to Ignore, or delete the webhook.",
  };
}

/**
 * What the replacement of a node writes: the kubelet makes the node, reports it and its pods, and deletes these at their
 * end; Cluster API cordons, evicts and deletes the node; controllers make the pods again, and the scheduler binds them.
 */
const WRITTEN: readonly { resource: string; operations: readonly string[]; isNamespaced: boolean }[] = [
  { resource: "nodes", operations: ["CREATE", "UPDATE", "DELETE"], isNamespaced: false },
  { resource: "nodes/status", operations: ["UPDATE"], isNamespaced: false },
  { resource: "pods", operations: ["CREATE", "DELETE"], isNamespaced: true },
  { resource: "pods/binding", operations: ["CREATE"], isNamespaced: true },
  { resource: "pods/eviction", operations: ["CREATE"], isNamespaced: true },
  { resource: "pods/status", operations: ["UPDATE"], isNamespaced: true },
];

/**
 * Whether it is asked about what an upgrade writes: a namespaceSelector leaves out nothing that is in no namespace.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */
function findAsked(webhook: TenantWebhook): "always" | "partly" | "never" {
  const written = WRITTEN.filter((one) => webhook.rules.some((rule) => matches(rule, one)));
  if (written.length === 0) return "never";
  const isWhole = !webhook.objectSelector && !webhook.matchConditions;
  const isAlways = written.some(
    ({ isNamespaced }) => isWhole && !(isNamespaced && webhook.namespaceSelector),
  );
  return isAlways ? "always" : "partly";
}

/** As kube-apiserver matches: `*` stands for any resource but no subresource, and also behind the slash for none. */
function matches(rule: TenantWebhook["rules"][number], written: (typeof WRITTEN)[number]): boolean {
  const [resource, subresource = ""] = written.resource.split("/");
  const isResource = rule.resources.some((one) => {
    const [of, sub = ""] = one.split("/");
    return (of === "*" || of === resource) && (sub === "*" || sub === subresource);
  });
  const isOperation = ["*", ...written.operations].some((one) => rule.operations.includes(one));
  return isResource && isOperation && ["", "*"].some((group) => rule.apiGroups.includes(group));
}

function isFilled(record: object | undefined): boolean {
  for (const _ in record) return true;
  return false;
}
