import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { kubectl, readStack } from "../platform/stack/testing.ts";
import {
  type ChartName,
  packageChart,
  pathOfChart,
  REQUIRED_VALUES,
  type Rendered,
  readDocument,
  runHelm,
  type Values,
} from "../testing/chart.ts";
import { hasText, INSTALLATIONS, listFreeTexts, type Texts } from "../testing/chart-text-values.ts";
import { installForeignDefinitions, installProviderDefinitions } from "../testing/infrastructure-provider.ts";

/** Texts that YAML reads as something else, or as the end of a value, when they are not quoted. */
const TEXTS = [
  "1",
  "1.0",
  "-1",
  "0x1f",
  "0o17",
  "1e3",
  "1_000",
  "12:30:45",
  "2026-01-31",
  "true",
  "no",
  "y",
  "null",
  "~",
  ".inf",
  "a #b",
  "#a",
  "a: b",
  "a:",
  "- a",
  "[a",
  "{a",
  "*a",
  "&a",
  "!a",
  "%a",
  "@a",
  "|",
  ">a",
  "'a",
  'a"b',
  "a\\b",
];

/** A text that needs no quotes, for which every object holds what it must. */
const PLAIN = "plaintext";
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

const NAMESPACE = `chart-text-${randomUUID().slice(0, 8)}`;
const folder = mkdtempSync(join(tmpdir(), "marina-chart-text-"));

beforeAll(async () => {
  await kubectl(["create", "namespace", NAMESPACE]);
  await installForeignDefinitions();
  await installProviderDefinitions();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]);
});

const everywhere = (text: string): Texts => ({ any: () => text, name: () => text, network: () => text });

/** What Kubernetes takes, another text in each place. AWS takes no instance type of a single character. */
function sampleAccepted(): Texts {
  const texts = TEXTS.filter((text) => text.length > 1);
  const sampleOf = (choice: readonly string[]) => {
    const sample = fc.sample(fc.constantFrom(...choice), 200);
    return () => sample.pop() ?? PLAIN;
  };
  const names = texts.filter((text) => NAME.test(text));
  return { any: sampleOf(texts), name: sampleOf(names), network: () => "10.0.0.0/8" };
}

/** The documents that helm writes, as they are. */
async function render(name: ChartName, chart: string, values: Values): Promise<string[]> {
  const rendered = await runHelm(["template", name, chart, "--namespace", NAMESPACE], values);
  return rendered.split(/^---$/m).filter((document) => /^kind:/m.test(document));
}

function read(document: string): Rendered {
  const object = readDocument(document);
  if (object === null) throw new Error("a document without an object");
  return object;
}

/** The objects, with the Job's name without the digest of its Pod template. */
async function renderObjects(chart: ChartName, values: Values): Promise<unknown[]> {
  const documents = await render(chart, pathOfChart(chart), values);
  return documents.map((one) => read(one.replace(/\bmarina-migrate-[0-9a-f]{10}\b/, "marina-migrate")));
}

/** What is written inside a text, as JSON or as YAML of a template of Cluster API, is read again, each text once. */
function readInner(text: string): unknown {
  if (!inner.has(text)) inner.set(text, parseInner(text));
  return inner.get(text);
}

const inner = new Map<string, unknown>();

function parseInner(text: string): unknown {
  const [sizes, json] = /\(fromJson ("(?:[^"\\]|\\.)*")\)/.exec(text) ?? [];
  if (json !== undefined)
    return { sizes: JSON.parse(JSON.parse(json)), template: text.replace(sizes ?? "", "sizes") };
  if (!/[\n{[]/.test(text)) return text;
  const withoutTemplates = text.replaceAll(/\{\{[^}]*\}\}/g, "template");
  const [document] = parseAllDocuments(withoutTemplates);
  return document === undefined || document.errors.length > 0 ? text : document.toJS();
}

/** A copy of the value with every text in it replaced, inside texts that hold JSON or YAML too. */
function replaceText(value: unknown, from: string, to: string): unknown {
  if (Array.isArray(value)) return value.map((one) => replaceText(one, from, to));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaceText(one, from, to)]));
  if (typeof value !== "string") return value;
  const content = readInner(value);
  return typeof content === "string" ? content.replaceAll(from, to) : replaceText(content, from, to);
}

/** Without fields that are an empty text, which the Kubernetes API leaves out. */
function withoutEmptyTexts(object: Rendered): Rendered {
  const isIndex = (key: string) => /^\d+$/.test(key);
  return JSON.parse(JSON.stringify(object), (key, value) =>
    value === "" && !isIndex(key) ? undefined : value,
  );
}

/**
 * Sends documents to the Kubernetes API as they are, in a dry run, each once; expects that what it would store has all that they
 * say. No Pod is sent: one is admitted with a priority class that exists alone, and Deployments have the same texts.
 */
async function expectReadBack(documents: readonly string[]): Promise<void> {
  const sent = [...new Set(documents)].filter((document) => !/^kind: Pod$/m.test(document));
  const applying = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--output=json"];
  const { stdout } = await kubectl([...applying, "--filename=-"], { stdin: sent.join("---\n") });
  const answer = JSON.parse(stdout);
  const stored = answer.kind === "List" ? answer.items : [answer];
  expect(stored).toHaveLength(sent.length);
  sent.forEach((document, index) => {
    expect(stored[index]).toMatchObject(withoutEmptyTexts(read(document)));
  });
}

describe.each(INSTALLATIONS)(
  "the chart %s writes a text of its values as that text",
  (_, chart, valuesWith) => {
    let plain: unknown[];
    beforeAll(async () => {
      plain = await renderObjects(chart, valuesWith(everywhere(PLAIN)));
    });

    test.each(TEXTS)("%s", async (text) => {
      const rendered = await renderObjects(chart, valuesWith(everywhere(text)));
      expect(replaceText(rendered, PLAIN, PLAIN)).toEqual(replaceText(plain, PLAIN, text));
    });

    test("and the Kubernetes API reads each back", async () => {
      const documents: string[] = [];
      for (let round = 0; round < 3; round++)
        documents.push(...(await render(chart, pathOfChart(chart), valuesWith(sampleAccepted()))));
      await expectReadBack(documents);
    });
  },
);

test.each<[ChartName, string[]]>([
  // One JSON as a whole.
  ["marina", [".oidc.issuers[]"]],
  ["marina-classes", []],
])("every text that the schema of %s leaves free is in these values", (chart, others) => {
  const ofChart = INSTALLATIONS.filter(([, name]) => name === chart);
  const written = ofChart.map(([, , valuesWith]) => valuesWith(everywhere(PLAIN)));
  const left = listFreeTexts(chart).filter((path) => !written.some((values) => hasText(values, path)));
  expect(left.filter((path) => !others.some((one) => path.startsWith(one)))).toEqual([]);
});

const likeYaml = fc.string({
  unit: fc.constantFrom(...Array.from("0123456789.eExXo_:+-#~ nulyestrfa'\"{}[]&*!|>%@`,?\\")),
  minLength: 1,
  maxLength: 12,
});

describe("a text of any characters that YAML has a meaning for is read again as it was given", () => {
  const texts = [...new Set(fc.sample(likeYaml, 500))];

  test("in values and in keys", async () => {
    const extraEnv = texts.map((value, index) => ({ name: `E${index}`, value }));
    const ofKeys = Object.fromEntries(texts.map((text) => [`a/${text}`, text]));
    const ofNumbers = Object.fromEntries(texts.map((text, index) => [`a/${index}`, text]));
    const documents = await render("marina", pathOfChart("marina"), {
      ...REQUIRED_VALUES,
      apiserver: { extraEnv, podAnnotations: ofNumbers },
      operator: { extraEnv, podAnnotations: ofKeys },
      crds: { enabled: false },
    });
    const documentOf = (name: string) => {
      const found = documents.find((one) => {
        const { kind, metadata } = read(one);
        return kind === "Deployment" && metadata.name === name;
      });
      return found ?? "";
    };
    const annotations = { "marina-apiserver": ofNumbers, "marina-operator": ofKeys };
    for (const [name, expected] of Object.entries(annotations)) {
      const { template } = read(documentOf(name)).spec;
      expect(template.spec.containers[0].env).toEqual(expect.arrayContaining(extraEnv));
      expect(template.metadata.annotations).toMatchObject(expected);
    }
    // A key of an annotation has fewer characters.
    await expectReadBack([documentOf("marina-apiserver")]);
  });

  test("in the objects of a class", async () => {
    const proxmox = { enabled: true, templateTag: "ubuntu", allowedNodes: texts, dnsServers: texts };
    const documents = await render("marina-classes", pathOfChart("marina-classes"), { proxmox });
    const cluster = documents.filter((one) => /^kind: ProxmoxClusterTemplate$/m.test(one));
    const specs = cluster.map((one) => read(one).spec.template.spec);
    expect(specs).toMatchObject([{ allowedNodes: texts, dnsServers: texts }]);
    await expectReadBack(cluster);
  });
});

describe("a chart whose version has a `+`, as Flux writes it, has labels that the Kubernetes API takes", () => {
  const LONG = `0.1.0-rc.1+${"build.".repeat(20)}7`;

  test.each<[ChartName, string, string]>([
    ["marina", "0.1.0+build.7", "0.1.0_build.7"],
    ["marina", LONG, `0.1.0-rc.1_${"build.".repeat(20)}`.slice(0, 63)],
    ["marina-classes", "0.1.0+build.7", "0.1.0_build.7"],
  ])("%s %s", async (chart, version, label) => {
    const { helm } = readStack();
    const packed = await packageChart(folder, helm, { chart: pathOfChart(chart), version });
    const valuesWith = INSTALLATIONS.filter(([, name]) => name === chart).map(([, , of]) => of);
    for (const values of valuesWith.map((of) => of(sampleAccepted()))) {
      const documents = await render(chart, packed, values);
      const labels = documents.map((one) => read(one).metadata.labels ?? {});
      const versions = labels.flatMap((of) => of["app.kubernetes.io/version"] ?? []);
      expect(new Set(versions)).toEqual(new Set(chart === "marina" ? [label] : []));
      await expectReadBack(documents);
    }
  });

  test("and an image with that version as its tag, in which a `+` is not allowed", async () => {
    const { helm } = readStack();
    const chart = pathOfChart("marina");
    const packed = await packageChart(folder, helm, { chart, version: "0.1.0+build.8" });
    const documents = await render("marina", packed, REQUIRED_VALUES);
    const images = documents.map(read).flatMap(({ spec }) => spec?.template?.spec?.containers ?? []);
    expect(new Set(images.map(({ image }) => image))).toEqual(
      new Set(["registry.example.com/marina:0.1.0-build.8"]),
    );
  });
});
