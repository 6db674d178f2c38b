import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { documentText } from "./document.ts";
import { lint } from "./lint.ts";

const LIST = "/api/v1/organizations";
const POOL = `${LIST}/{orgID}/clusters/{clusterID}/nodepools/{poolID}`;

/**
 * The document with the paths that are broken here, and what they refer to: the whole one takes Spectral half a minute.
 */
function readPart() {
  const whole = JSON.parse(documentText);
  const paths = Object.fromEntries([LIST, `${LIST}/{orgID}`, POOL].map((path) => [path, whole.paths[path]]));
  const { securitySchemes } = whole.components;
  const components: Record<string, Record<string, unknown>> = { securitySchemes };
  const addReferences = (node: unknown) => {
    for (const [, kind = "", name = ""] of JSON.stringify(node).matchAll(
      /"#\/components\/(\w+)\/([^"]+)"/g,
    )) {
      components[kind] ??= {};
      if (name in components[kind]) continue;
      components[kind][name] = whole.components[kind][name];
      addReferences(components[kind][name]);
    }
  };
  addReferences(paths);
  const { webhooks: _, ...rest } = whole;
  return { ...rest, paths, components };
}

const document = readPart();
const { schemas } = document.components;
const { get, post } = document.paths[LIST];
const { get: getOne, put } = document.paths[`${LIST}/{orgID}`];

const FAULTS: [what: string, breakIt: () => void, rule: string][] = [
  ["an operationId with hyphens", () => (get.operationId = "list-organizations"), "marina-operation-id"],
  ["a missing request id", () => delete get.responses["200"].headers["X-Request-Id"], "marina-request-id"],
  ["a missing status", () => delete get.responses["503"], "marina-statuses"],
  ["a missing status of a path", () => delete getOne.responses["404"], "marina-path-statuses"],
  ["a missing status of a body", () => delete post.responses["415"], "marina-body-statuses"],
  [
    "a 401 without a challenge",
    () => delete get.responses["401"].headers["WWW-Authenticate"],
    "marina-authenticate",
  ],
  [
    "a 503 without Retry-After",
    () => delete put.responses["503"].headers["Retry-After"],
    "marina-retry-after",
  ],
  ["a 201 without Location", () => delete post.responses["201"].headers.Location, "marina-location"],
  [
    "a body of any fields",
    () => delete schemas.CreateOrganization.additionalProperties,
    "marina-closed-body",
  ],
  [
    "a schema that is no component",
    () => (put.requestBody.content["application/json"].schema = schemas.UpdateOrganization),
    "marina-component",
  ],
  ["a response without an example", () => delete schemas.OrganizationPage.example, "marina-example"],
  [
    "a field without a description",
    () => delete schemas.Organization.properties.slug.description,
    "marina-field-description",
  ],
  [
    "a number without bounds",
    () => (schemas.CreateOrganization.properties.factor = { type: "number", description: "A factor." }),
    "marina-number-limit",
  ],
  [
    "a map without a bound",
    () => delete schemas.NodePool.properties.node_labels.maxProperties,
    "marina-map-limit",
  ],
  [
    "a string without a bound",
    () => delete schemas.CreateOrganization.properties.name.maxLength,
    "owasp:api4:2023-string-limit",
  ],
  [
    "a list without a bound",
    () => delete schemas.OrganizationPage.properties.items.maxItems,
    "owasp:api4:2023-array-limit",
  ],
  ["a missing 401", () => delete getOne.responses["401"], "owasp:api8:2023-define-error-responses-401"],
];

describe("Spectral with our rules", () => {
  const folder = mkdtempSync(join(tmpdir(), "marina-lint-"));
  let sound: string;
  let report: string;

  beforeAll(async () => {
    const file = join(folder, "openapi.json");
    writeFileSync(file, JSON.stringify(document));
    sound = await lint("spectral", file);
    for (const [, breakIt] of FAULTS) breakIt();
    writeFileSync(file, JSON.stringify(document));
    report = await lint("spectral", file);
  }, 900_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  test("reports nothing of what is not broken", () => {
    expect(sound).toBe("");
  });

  test.each(FAULTS)("reports %s", (_what, _breakIt, rule) => {
    expect(report).toContain(` ${rule} `);
  });
});
