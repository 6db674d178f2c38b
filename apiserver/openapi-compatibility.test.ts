import { expect, test } from "vitest";
import { renderOpenApi } from "./openapi.ts";
import { findOpenApiBreaks } from "./openapi-compatibility.ts";

const text = renderOpenApi();
const document = () => JSON.parse(text);
type Document = ReturnType<typeof document>;

const LIST = "/api/v1/organizations";
const RECORD = "/api/v1/organizations/{orgID}";
const schemas = (changed: Document) => changed.components.schemas;

test("the document as it is breaks nobody", () => {
  expect(findOpenApiBreaks(document(), document())).toEqual([]);
});

test.each<[string, (changed: Document) => void, string]>([
  [
    "an operation that is gone",
    (changed) => delete changed.paths[LIST].post,
    `POST ${LIST}: the operation is gone`,
  ],
  [
    "a renamed operation",
    (changed) => (changed.paths[LIST].get.operationId = "other"),
    `GET ${LIST}: the operationId was listOrganizations`,
  ],
  [
    "a status that is gone",
    (changed) => delete changed.paths[RECORD].get.responses["304"],
    `GET ${RECORD} 304: the status is gone`,
  ],
  [
    "an error code that is gone",
    (changed) =>
      delete changed.paths[LIST].post.responses["409"].content["application/json"].examples.already_exists,
    `POST ${LIST} 409: the code already_exists is gone`,
  ],
  [
    "a field of an answer that is gone",
    (changed) => delete schemas(changed).Organization.properties.slug,
    `GET ${RECORD} 200.slug: the field is gone`,
  ],
  [
    "a field of an answer of another type",
    (changed) => (schemas(changed).Organization.properties.plan.type = "integer"),
    `GET ${RECORD} 200.plan: the type was string, now integer`,
  ],
  [
    "a new required field of a body",
    (changed) => schemas(changed).CreateOrganization.required.push("billing_email"),
    `POST ${LIST} body.billing_email: the field is required now`,
  ],
  [
    "a field of a body that is gone",
    (changed) => delete schemas(changed).CreateOrganization.properties.vat_id,
    `POST ${LIST} body.vat_id: the field is gone`,
  ],
  [
    "a narrower enum",
    (changed) => schemas(changed).NodePool.properties.status.enum.pop(),
    `GET ${RECORD}/clusters/{clusterID}/nodepools/{poolID} 200.status: the value "failed" is gone`,
  ],
  [
    "a parameter that is gone",
    (changed) => changed.paths[LIST].get.parameters.pop(),
    `GET ${LIST} query parameter limit: it is gone`,
  ],
  [
    "a parameter with a tighter bound",
    (changed) => (changed.paths[LIST].get.parameters[1].schema.maximum = 50),
    `GET ${LIST} query parameter limit: maximum was 100, now 50`,
  ],
  [
    "a header of an answer that is gone",
    (changed) => delete changed.paths[RECORD].get.responses["200"].headers.ETag,
    `GET ${RECORD} 200: the header ETag is gone`,
  ],
  [
    "another permission",
    (changed) => (changed.paths[RECORD].get.security = [{ bearer: ["organization:delete"] }]),
    `GET ${RECORD}: {"bearer":["organization:read"]} no longer opens it`,
  ],
])("%s is a break", (_, change, expected) => {
  const changed = document();
  change(changed);
  expect(findOpenApiBreaks(document(), changed)).toContain(expected);
});

test.each<[string, (changed: Document) => void]>([
  ["a new operation", (changed) => (changed.paths["/api/v1/new"] = { get: changed.paths[LIST].get })],
  [
    "a new field of an answer",
    (changed) => (schemas(changed).Organization.properties.motto = { type: "string" }),
  ],
  [
    "a new optional field of a body",
    (changed) => (schemas(changed).CreateOrganization.properties.motto = {}),
  ],
  ["a new status of a record", (changed) => schemas(changed).NodePool.properties.status.enum.push("resting")],
  ["another description", (changed) => (changed.paths[LIST].get.summary = "List them")],
])("%s is no break", (_, change) => {
  const changed = document();
  change(changed);
  expect(findOpenApiBreaks(document(), changed)).toEqual([]);
});
