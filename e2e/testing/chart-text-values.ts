import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ChartName, pathOfChart, REQUIRED_VALUES, type Values } from "./chart.ts";

/** Gives the text of each place: any, and what Kubernetes takes where it wants a name, or a network (CIDR). */
export interface Texts {
  any: () => string;
  name: () => string;
  network: () => string;
}

/** Values of the chart marina with a text in every place that has one, but for the database that the chart makes. */
function marinaValues({ any, name, network }: Texts): Values {
  const placement = () => ({
    nodeSelector: { extra: name() },
    tolerations: [{ key: name(), value: name() }],
    priorityClassName: name(),
  });
  const program = () => ({
    ...placement(),
    extraEnv: [{ name: "EXTRA", value: any() }],
    podLabels: { extra: name() },
    podAnnotations: { extra: any() },
    serviceAccountAnnotations: { extra: any() },
  });
  return {
    ...REQUIRED_VALUES,
    host: name(),
    commonLabels: { common: name() },
    migrate: { ...placement(), podLabels: { extra: name() }, podAnnotations: { extra: any() } },
    hooks: placement(),
    autoscaler: placement(),
    extraObjects: [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "more" }, data: { extra: any() } },
    ],
    image: { repository: any(), tag: any() },
    imagePullSecrets: [{ name: name() }],
    caBundleConfigMap: name(),
    database: { existingSecret: name(), urlKey: name(), ownerUrlKey: name(), apiserverRole: any() },
    oidc: { issuers: [{ ...REQUIRED_VALUES.oidc.issuers[0], audience: any(), subjectClaim: any() }] },
    webhooks: { existingSecret: name(), keysKey: name() },
    attachments: { existingSecret: name(), storeKey: name() },
    registry: { existingSecret: name(), configKey: name() },
    auditWebhook: { existingSecret: name(), tokenKey: name() },
    invoicing: { supplier: { name: any() } },
    sharedStorage: {
      driver: "ceph",
      ceph: { url: any(), username: any(), existingSecret: name(), passwordKey: name() },
    },
    plans: { default: { class: any(), namespace: any(), controlPlaneReplicas: 3, credentials: [any()] } },
    networks: { pods: any(), services: any() },
    apiserver: {
      ...program(),
      service: {
        type: "LoadBalancer",
        annotations: { extra: any() },
        loadBalancerClass: name(),
        loadBalancerSourceRanges: [network()],
      },
      trustedProxies: [any()],
    },
    operator: {
      ...program(),
      clusterAutoscalerImage: any(),
      argoCDNamespace: any(),
      syncedNodeLabels: any(),
    },
    scanner: { ...program(), enabled: true, image: { repository: any(), tag: any() } },
    ingress: { enabled: true, className: name(), tlsSecret: name(), annotations: { extra: any() } },
    httpRoute: { enabled: true, parentRefs: [{ name: any() }] },
    monitoring: { enabled: true, labels: { extra: name() }, serviceAnnotations: { extra: any() } },
    restore: { subjects: [{ kind: "User", name: any() }] },
    crds: { enabled: false },
  };
}

const databaseValues = ({ any, name }: Texts): Values => ({
  ...REQUIRED_VALUES,
  database: {
    cloudNativePG: {
      enabled: true,
      imageName: any(),
      apiserverSecret: name(),
      storage: { size: any(), storageClass: any() },
    },
  },
  sharedStorage: { driver: "directory", directory: { existingClaim: name() } },
  crds: { enabled: false },
});

const classValues = ({ any, name }: Texts): Values => {
  const flavours = () => [{ vcpus: 2, memoryGB: 4, name: any() }];
  return {
    docker: { enabled: true, image: any() },
    kubevirt: { enabled: true, image: any(), storageClass: any() },
    openstack: {
      enabled: true,
      cloudSecret: any(),
      cloudName: any(),
      dnsNameservers: [any()],
      imagePrefix: any(),
      sshKeyName: any(),
      flavours: flavours(),
      controlPlane: { flavour: any() },
    },
    vsphere: {
      enabled: true,
      server: any(),
      thumbprint: any(),
      identity: name(),
      datacenter: any(),
      datastore: any(),
      folder: any(),
      resourcePool: any(),
      storagePolicyName: any(),
      network: any(),
      endpointNetwork: "10.0.5",
      nodesNetwork: "10.64",
      templatePrefix: any(),
      kubeVipImage: any(),
    },
    proxmox: {
      enabled: true,
      templateTag: any(),
      credentials: { name: any(), namespace: any() },
      allowedNodes: [any()],
      dnsServers: [any()],
      storage: any(),
      bridge: any(),
      bootDisk: any(),
      kubeVipImage: any(),
    },
    aws: {
      enabled: true,
      region: any(),
      identity: name(),
      imageOwner: any(),
      sshKeyName: any(),
      flavours: flavours(),
      controlPlane: { instanceType: any() },
    },
    gcp: {
      enabled: true,
      project: any(),
      region: "europe-west3",
      credentials: any(),
      imagePrefix: any(),
      diskType: any(),
      serviceAccount: any(),
      workers: { serviceAccount: any() },
      controlPlane: { instanceType: any() },
    },
  };
};

const identityValues = ({ any }: Texts): Values => ({
  openstack: {
    enabled: true,
    identity: any(),
    imagePrefix: any(),
    flavours: [{ vcpus: 2, memoryGB: 4, name: any() }],
    controlPlane: { flavour: any() },
  },
});

/** Installations, each with the chart and its values. Together they have every text of both charts. */
export const INSTALLATIONS: readonly [string, ChartName, (texts: Texts) => Values][] = [
  ["marina", "marina", marinaValues],
  ["marina with a database of CloudNativePG", "marina", databaseValues],
  ["marina-classes", "marina-classes", classValues],
  ["marina-classes with an identity of OpenStack", "marina-classes", identityValues],
];

interface Schema {
  type?: string | string[];
  enum?: unknown[];
  pattern?: string;
  format?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
}

/** The paths of the texts of a chart's values that its schema leaves free: no pattern, no list of what is allowed. */
export function listFreeTexts(chart: ChartName): string[] {
  const text = readFileSync(join(pathOfChart(chart), "values.schema.json"), "utf8");
  const { definitions } = JSON.parse(text);
  const resolved = JSON.parse(text, (_, value) => definitions[value?.$ref?.split("/").at(-1)] ?? value);
  return findFreeTexts(resolved, "");
}

function findFreeTexts(schema: Schema, path: string): string[] {
  const { type, properties = {}, additionalProperties, items, anyOf = [] } = schema;
  const isFree = schema.enum === undefined && schema.pattern === undefined && schema.format === undefined;
  const below = Object.entries(properties).flatMap(([key, one]) => findFreeTexts(one, `${path}.${key}`));
  const others =
    typeof additionalProperties === "object" ? findFreeTexts(additionalProperties, `${path}.*`) : [];
  const inList = items === undefined ? [] : findFreeTexts(items, `${path}[]`);
  const here = type === "string" && isFree ? [path] : [];
  return [...here, ...below, ...others, ...inList, ...anyOf.flatMap((one) => findFreeTexts(one, path))];
}

/** Whether values have a text at a path as `listFreeTexts` writes it. */
export function hasText(values: Values, path: string): boolean {
  const [, first = "", rest = ""] = /^(\.[^.[]+|\[\])(.*)$/.exec(path) ?? [];
  const below = first === ".*" || first === "[]" ? Object.values(values) : [values[first.slice(1)]];
  return below.some((one) =>
    rest === "" ? typeof one === "string" : typeof one === "object" && hasText(one as Values, rest),
  );
}
