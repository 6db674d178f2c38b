import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findOpenApiBreaks } from "./compatibility.ts";
import { documentText } from "./document.ts";

const document = () => JSON.parse(documentText);
type Document = ReturnType<typeof document>;

const LIST = "/api/v1/organizations";
const RECORD = "/api/v1/organizations/{orgID}";
const CLUSTERS = `${RECORD}/clusters`;
const NODE_POOL = `${CLUSTERS}/{clusterID}/nodepools/{poolID}`;

/** What a change does to the document, and the line that it must give: where, and the rule that is broken. */
type Case = [what: string, change: (changed: Document) => void, where: string, rule: string];

const schemaOf = (changed: Document, name: string) => changed.components.schemas[name];
const fieldsOf = (changed: Document, name: string) => schemaOf(changed, name).properties;
const without = (list: string[], entry: string) => list.filter((one) => one !== entry);

const BREAKS: Case[] = [
  [
    "a removed operation",
    (c) => delete c.paths[CLUSTERS].post,
    `POST ${CLUSTERS}`,
    "api-removed-without-deprecation",
  ],
  [
    "a renamed operation",
    (c) => (c.paths[LIST].get.operationId = "other"),
    `GET ${LIST}`,
    "api-operation-id-removed",
  ],
  [
    "a removed status",
    (c) => delete c.paths[RECORD].get.responses["304"],
    `GET ${RECORD}`,
    "response-non-success-status-removed",
  ],
  [
    "a removed error code",
    (c) => delete c.paths[LIST].post.responses["409"].content["application/json"].examples.already_exists,
    `POST ${LIST}`,
    "error-code-removed",
  ],
  [
    "a removed field of a response",
    (c) => delete fieldsOf(c, "Organization").slug,
    `GET ${RECORD}`,
    "response-required-property-removed",
  ],
  [
    "a removed optional field of a response",
    (c) => delete fieldsOf(c, "NodePool").min_vcpus,
    `GET ${NODE_POOL}`,
    "response-optional-property-removed",
  ],
  [
    "a field of a response of another type",
    (c) => (fieldsOf(c, "Organization").plan.type = "integer"),
    `GET ${RECORD}`,
    "response-property-type-changed",
  ],
  [
    "a field of a response that may be absent",
    (c) => (schemaOf(c, "Organization").required = without(schemaOf(c, "Organization").required, "name")),
    `GET ${RECORD}`,
    "response-property-became-optional",
  ],
  [
    "a field of a response that may be null",
    (c) => (fieldsOf(c, "Organization").id.type = ["string", "null"]),
    `GET ${RECORD}`,
    "response-property-became-nullable",
  ],
  [
    "a fraction where a response had whole numbers",
    (c) => (fieldsOf(c, "NodePool").vcpus.type = "number"),
    `GET ${NODE_POOL}`,
    "response-property-type-generalized",
  ],
  [
    "a removed enum value of a response",
    (c) => fieldsOf(c, "NodePool").status.enum.pop(),
    `GET ${NODE_POOL}`,
    "response-property-enum-value-removed",
  ],
  [
    "a new required field of a request",
    (c) => schemaOf(c, "CreateOrganization").required.push("billing_email"),
    `POST ${LIST}`,
    "request-property-became-required",
  ],
  [
    "a removed field of a request",
    (c) => delete fieldsOf(c, "CreateOrganization").vat_id,
    `POST ${LIST}`,
    "request-property-removed",
  ],
  [
    "a longer minimal length",
    (c) => (fieldsOf(c, "CreateOrganization").name.minLength = 50),
    `POST ${LIST}`,
    "request-property-min-length-increased",
  ],
  [
    "null that is refused",
    (c) => (fieldsOf(c, "UpdateOrganization").billing_email.type = "string"),
    `PUT ${RECORD}`,
    "request-property-became-not-nullable",
  ],
  [
    "a shorter list",
    (c) => (fieldsOf(c, "SetNetworkPolicy").authorized_cidrs.maxItems = 1),
    `PUT ${CLUSTERS}/{clusterID}/network`,
    "request-property-max-items-decreased",
  ],
  [
    "a tighter bound",
    (c) => (fieldsOf(c, "UpdateNodePool").disk_gb.maximum = 64),
    `PUT ${NODE_POOL}`,
    "request-property-max-decreased",
  ],
  [
    "a pattern",
    (c) => (fieldsOf(c, "UpdateCluster").k8s_version.pattern = "^1$"),
    `PUT ${CLUSTERS}/{clusterID}`,
    "request-property-pattern-changed",
  ],
  [
    "a removed parameter",
    (c) => c.paths[CLUSTERS].get.parameters.shift(),
    `GET ${CLUSTERS}`,
    "request-parameter-removed",
  ],
  [
    "a parameter with a tighter bound",
    (c) => (c.paths[LIST].get.parameters[1].schema.maximum = 50),
    `GET ${LIST}`,
    "request-parameter-max-decreased",
  ],
  [
    "a removed header of a response",
    (c) => delete c.paths[RECORD].get.responses["200"].headers.ETag,
    `GET ${RECORD}`,
    "optional-response-header-removed",
  ],
  [
    "another permission",
    (c) => (c.paths[RECORD].get.security = [{ bearer: ["organization:delete"] }]),
    `GET ${RECORD}`,
    "api-security-scope-added",
  ],
];

const CHANGES: [what: string, change: (changed: Document) => void][] = [
  [
    "a new operation",
    (c) => (c.paths["/api/v1/new"] = { get: { ...c.paths[LIST].get, operationId: "listNew" } }),
  ],
  ["a new field of a response", (c) => (fieldsOf(c, "Organization").motto = { type: "string" })],
  [
    "a new optional field of a request",
    (c) => (fieldsOf(c, "CreateOrganization").motto = { type: "string" }),
  ],
  ["a new enum value of a response", (c) => fieldsOf(c, "NodePool").status.enum.push("resting")],
  ["a wider bound of both", (c) => (fieldsOf(c, "NodePool").vcpus.maximum = 1000)],
  ["another description", (c) => (c.paths[LIST].get.summary = "List them")],
];

describe("the gate of the released interface", () => {
  const folder = mkdtempSync(join(tmpdir(), "marina-compatibility-"));
  let breaks: string[];

  afterAll(() => rmSync(folder, { recursive: true }));

  async function breaksOf(changes: readonly ((changed: Document) => void)[]): Promise<string[]> {
    const changed = document();
    for (const change of changes) change(changed);
    const file = join(folder, "changed.json");
    writeFileSync(file, JSON.stringify(changed));
    const before = join(folder, "before.json");
    writeFileSync(before, documentText);
    return findOpenApiBreaks(before, file);
  }

  beforeAll(async () => {
    breaks = await breaksOf(BREAKS.map(([, change]) => change));
  }, 900_000);

  test.each(BREAKS)("reports %s", (_what, _change, where, rule) => {
    expect(breaks.filter((line) => line.startsWith(`${where}: `) && line.endsWith(`[${rule}]`))).not.toEqual(
      [],
    );
  });

  test(`allows ${CHANGES.map(([what]) => what).join(", ")}`, async () => {
    expect(await breaksOf(CHANGES.map(([, change]) => change))).toEqual([]);
  });
});
