import { MANAGER_OPERATOR, PACKAGES_CONFIG_MAP, PACKAGES_KEY } from "../../shared/crd/names.ts";
import { packagesSchema } from "../../shared/crd/packages.ts";
import { requireOwnKinds } from "../../shared/crd/required.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { requireKinds } from "../../shared/kube/required-kinds.ts";
import { requireServerVersion } from "../../shared/kube/server-version.ts";
import type { Transport } from "../../shared/kube/transport.ts";
import { ExplainedError, messageOf } from "../../shared/program/errors.ts";
import { createLogger, type Logger } from "../../shared/program/log.ts";
import { decideCapabilities } from "../capabilities/decide.ts";
import { readClusterClass } from "../capi/cluster-class.ts";
import { type ClusterClass, clusterClassKind } from "../capi/kinds.ts";
import { probeGates } from "../capi/probe-gates.ts";
import { CAPI } from "../capi/required.ts";
import type { Config } from "../config.ts";
import {
  type Check,
  checkAutoscaler,
  checkGates,
  checkNetworks,
  checkPlans,
  checkRights,
  listNeededRights,
  type Right,
} from "./checks.ts";

/** A question about the rights of who asks (authorization.k8s.io/v1). */
interface AccessReview extends KubeObject {
  spec: { resourceAttributes: object };
  status?: { allowed: boolean };
}

const accessReviewKind = defineKind<AccessReview>({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
});

/**
 * What an installation needs and has, in the order in which to mend it: Kubernetes, the kinds of Marina and Cluster API, the
 * caller's rights, Cluster API's gates, the classes of the plans, and the configuration. Changes nothing. Rejects with a
 * KubeError when the Kubernetes API does not answer.
 */
export async function checkInstallation(
  transport: Transport,
  { settings }: Pick<Config, "settings">,
): Promise<Check[]> {
  const log = createLogger({ name: "preflight", level: "silent" });
  const kubernetes = await explain("kubernetes", "The version of the management cluster is supported.", () =>
    requireServerVersion(transport, log),
  );
  const kinds = await explain("kinds", "Marina's and Cluster API's definitions have all fields.", () =>
    requireKinds(transport, [requireOwnKinds(), CAPI], log),
  );
  const more = kinds.state === "ok" ? await checkClusterApi(createClient(transport), settings) : [];
  const configured = [checkAutoscaler(settings.autoscalerImage), checkNetworks(settings.platformCIDRs)];
  return [kubernetes, kinds, ...more, ...configured];
}

/** At the start of the operator, whose kinds are there: logs what keeps clusters back, and what tenants cannot have. */
export async function reportInstallation(
  transport: Transport,
  { settings }: Pick<Config, "settings">,
  log: Pick<Logger, "warn" | "info">,
): Promise<void> {
  try {
    for (const { state, about, text } of await checkClusterApi(createClient(transport), settings)) {
      if (state === "failed") log.warn({ about }, text);
      if (state === "warning") log.info({ about }, text);
    }
  } catch (error) {
    log.warn({ message: messageOf(error) }, "what the installation has is not known");
  }
}

async function checkClusterApi(
  client: Pick<KubeClient, "get" | "listAll" | "listKinds" | "create">,
  settings: Config["settings"],
): Promise<Check[]> {
  const namespace = settings.platformNamespace;
  const { signal } = new AbortController();
  const classes = await client.listAll(clusterClassKind);
  const rights = checkRights({
    needed: await findMissing(client, listNeededRights(namespace)),
    providers: await findMissing(client, await listProviderRights(client, classes)),
  });
  // The dry run would say the same in other words.
  if (rights.some(({ state }) => state === "failed")) return rights;
  const gates = await probeGates(client, { namespace, fieldManager: MANAGER_OPERATOR, signal });
  const published = await client.get(configMapKind, namespace, PACKAGES_CONFIG_MAP);
  const capabilities = decideCapabilities({
    settings,
    packages: packagesSchema.safeParse(JSON.parse(published?.data?.[PACKAGES_KEY] ?? "{}")).data ?? {},
    classes: new Map(classes.map((one) => [objectKey(one), readClusterClass(one)])),
    takesTaints: gates.taints,
  });
  return [...rights, ...checkGates(gates), ...checkPlans(capabilities, settings.plans)];
}

/** To read the clusters of each provider that a class is for, where the API server knows them. */
async function listProviderRights(
  client: Pick<KubeClient, "listKinds">,
  classes: readonly ClusterClass[],
): Promise<Right[]> {
  const kinds = await client.listKinds();
  const rights = classes.flatMap(({ spec }): [string, Right][] => {
    const { apiVersion = "", kind = "" } = spec?.infrastructure?.templateRef ?? {};
    const [group = ""] = apiVersion.split("/");
    const found = kinds.find((one) => one.group === group && `${one.kind}Template` === kind);
    return found === undefined
      ? []
      : [[`${group}/${found.plural}`, { verb: "get", group, resource: found.plural }]];
  });
  return [...new Map(rights).values()];
}

/** Those of the rights that the caller does not have. */
async function findMissing(client: Pick<KubeClient, "create">, rights: readonly Right[]): Promise<Right[]> {
  const reviewed = rights.map(async ({ resource: path, ...right }) => {
    const [resource, subresource] = path.split("/");
    const resourceAttributes = { ...right, resource, ...(subresource !== undefined && { subresource }) };
    const review = { metadata: {}, spec: { resourceAttributes } };
    return client.create(accessReviewKind, review, { fieldManager: MANAGER_OPERATOR });
  });
  const reviews = await Promise.all(reviewed);
  return rights.filter((_, index) => reviews[index]?.status?.allowed !== true);
}

async function explain(about: string, text: string, check: () => Promise<void>): Promise<Check> {
  try {
    await check();
    return { state: "ok", about, text };
  } catch (error) {
    if (error instanceof ExplainedError) return { state: "failed", about, text: error.message };
    if (error instanceof KubeError) return { state: "failed", about, text: `${error.kubeMessage}.` };
    throw error;
  }
}
