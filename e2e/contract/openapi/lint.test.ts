import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { documentText } from "./document.ts";
import { lint } from "./lint.ts";

const document = JSON.parse(documentText);
const { schemas } = document.components;
const LIST = "/api/v1/organizations";
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
  let report: string;

  beforeAll(async () => {
    for (const [, breakIt] of FAULTS) breakIt();
    const file = join(folder, "openapi.json");
    writeFileSync(file, JSON.stringify(document));
    report = await lint("spectral", file);
  }, 900_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(FAULTS)("reports %s", (_what, _breakIt, rule) => {
    expect(report).toContain(` ${rule} `);
  });
});
