import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import {
  type ChartName,
  pathOfChart,
  REQUIRED_VALUES,
  type Rendered,
  renderChart,
  runHelm,
  type Values,
} from "../testing/chart.ts";

/** Texts that YAML reads as something else, or as the end of a value, when they are not quoted. */
const TEXTS = [
  "1",
  "0x1f",
  "1e3",
  "1_000",
  "12:30:45",
  "2026-01-31",
  "true",
  "no",
  "null",
  "~",
  ".inf",
  "a #b",
  "a: b",
  "- a",
  "[a",
  "{a",
  "*a",
  "&a",
  "!a",
  "%a",
  "@a",
  "'a",
  'a"b',
  "a\\b",
];

/** A text that needs no quotes, for which every object holds what it must. */
const PLAIN = "plaintext";

function marinaValues(text: string): Values {
  const program = {
    extraEnv: [{ name: "EXTRA", value: text }],
    podLabels: { extra: text },
    podAnnotations: { extra: text },
    nodeSelector: { extra: text },
    priorityClassName: text,
  };
  const placement = {
    nodeSelector: { extra: text },
    tolerations: [{ key: text, value: text }],
    priorityClassName: text,
  };
  return {
    ...REQUIRED_VALUES,
    commonLabels: { common: text },
    migrate: { ...placement, podLabels: { extra: text }, podAnnotations: { extra: text } },
    hooks: placement,
    extraObjects: [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "more" }, data: { extra: text } },
    ],
    image: { repository: text, tag: text },
    imagePullSecrets: [{ name: text }],
    caBundleConfigMap: text,
    database: { existingSecret: text, urlKey: text, ownerUrlKey: text, apiserverRole: text },
    oidc: { issuers: [{ issuer: "https://id.example.com", audience: text }] },
    webhooks: { existingSecret: text, keysKey: text },
    attachments: { existingSecret: text, storeKey: text },
    registry: { existingSecret: text, configKey: text },
    auditWebhook: { existingSecret: text, tokenKey: text },
    invoicing: { supplier: { name: text } },
    sharedStorage: {
      driver: "ceph",
      ceph: { url: text, username: text, existingSecret: text, passwordKey: text },
    },
    plans: { default: { class: text, namespace: text } },
    networks: { pods: text, services: text },
    apiserver: {
      ...program,
      serviceAccountAnnotations: { extra: text },
      service: { annotations: { extra: text }, loadBalancerClass: text, loadBalancerSourceRanges: [text] },
      trustedProxies: [text],
    },
    operator: { ...program, clusterAutoscalerImage: text },
    scanner: { ...program, enabled: true, image: { repository: text, tag: text } },
    ingress: { enabled: true, className: text, tlsSecret: text, annotations: { extra: text } },
    monitoring: { enabled: true, labels: { extra: text }, serviceAnnotations: { extra: text } },
    crds: { enabled: false },
  };
}

const databaseValues = (text: string): Values => ({
  ...REQUIRED_VALUES,
  database: {
    cloudNativePG: {
      enabled: true,
      imageName: text,
      apiserverSecret: text,
      storage: { size: text, storageClass: text },
    },
  },
  sharedStorage: { driver: "directory", directory: { existingClaim: text } },
  crds: { enabled: false },
});

const flavours = [{ vcpus: 2, memoryGB: 4, name: "small" }];

const classValues = (text: string): Values => ({
  docker: { enabled: true, image: text },
  kubevirt: { enabled: true, image: text, storageClass: text },
  openstack: {
    enabled: true,
    cloudSecret: text,
    cloudName: text,
    dnsNameservers: [text],
    imagePrefix: text,
    sshKeyName: text,
    flavours,
    controlPlane: { flavour: text },
  },
  vsphere: {
    enabled: true,
    server: text,
    thumbprint: text,
    identity: text,
    datacenter: text,
    datastore: text,
    network: text,
    endpointNetwork: "10.0.5",
    nodesNetwork: "10.64",
    templatePrefix: text,
  },
  proxmox: { enabled: true, templateTag: text },
  aws: {
    enabled: true,
    region: text,
    sshKeyName: text,
    flavours,
    controlPlane: { instanceType: text },
  },
  gcp: {
    enabled: true,
    project: text,
    region: "europe-west3",
    credentials: text,
    imagePrefix: text,
    diskType: text,
    serviceAccount: text,
    controlPlane: { instanceType: text },
  },
});

async function render(chart: ChartName, values: Values): Promise<unknown[]> {
  const rendered = await runHelm(["template", chart, pathOfChart(chart)], values);
  // The name of the Job has the digest of its Pod template.
  const text = rendered.replace(/\bmarina-migrate-[0-9a-f]{10}\b/, "marina-migrate");
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw new Error(`not YAML: ${document.errors[0]?.message}`);
    return document.toJS();
  });
}

/** What is written inside a text, as JSON or as YAML of a template of Cluster API, is read again. */
function readInner(text: string): unknown {
  if (!/[\n{[]/.test(text)) return text;
  const withoutTemplates = text.replaceAll(/\{\{[^}]*\}\}/g, "template");
  const [document] = parseAllDocuments(withoutTemplates);
  return document === undefined || document.errors.length > 0 ? text : document.toJS();
}

/** The same value with every text in it replaced, inside texts that hold JSON or YAML too. */
function replaceText(value: unknown, from: string, to: string): unknown {
  if (Array.isArray(value)) return value.map((one) => replaceText(one, from, to));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaceText(one, from, to)]));
  if (typeof value !== "string") return value;
  const inner = readInner(value);
  return typeof inner === "string" ? inner.replaceAll(from, to) : replaceText(inner, from, to);
}

describe.each<[string, ChartName, (text: string) => Values]>([
  ["marina", "marina", marinaValues],
  ["marina with a database of CloudNativePG", "marina", databaseValues],
  ["marina-classes", "marina-classes", classValues],
])("the chart %s writes a text of its values as that text", (_, chart, valuesWith) => {
  let plain: unknown[];
  beforeAll(async () => {
    plain = await render(chart, valuesWith(PLAIN));
  });

  test.each(TEXTS)("%s", async (text) => {
    const rendered = await render(chart, valuesWith(text));
    expect(replaceText(rendered, PLAIN, PLAIN)).toEqual(replaceText(plain, PLAIN, text));
  });
});

const likeYaml = fc.string({
  unit: fc.constantFrom(...Array.from("0123456789.eExXo_:+-#~ nulyestrfa'\"{}[]&*!|>%@`,?\\")),
  minLength: 1,
  maxLength: 12,
});

test("a text of any characters that YAML has a meaning for is read again as it was given, in values and in keys", async () => {
  const texts = fc.sample(likeYaml, 500);
  const extraEnv = texts.map((value, index) => ({ name: `E${index}`, value }));
  const podAnnotations = Object.fromEntries(texts.map((text) => [`a/${text}`, text]));
  const values = { ...REQUIRED_VALUES, operator: { extraEnv, podAnnotations }, crds: { enabled: false } };
  const { objects } = await renderChart("marina", "default", values);
  const isOperator = ({ kind, metadata }: Rendered) =>
    kind === "Deployment" && metadata.name === "marina-operator";
  const template = objects.find(isOperator)?.spec.template;
  expect(template.spec.containers[0].env).toEqual(expect.arrayContaining(extraEnv));
  expect(template.metadata.annotations).toMatchObject(podAnnotations);
});
