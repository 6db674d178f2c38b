import { expect, test } from "vitest";
import { renderOpenApi } from "./openapi.ts";
import { lintOpenApi } from "./openapi-lint.ts";

const rendered = renderOpenApi();
const document = () => JSON.parse(rendered);

test("the document describes, bounds and exemplifies everything, and names every answer", () => {
  expect(lintOpenApi(document())).toEqual([]);
});

type Document = ReturnType<typeof document>;
const ORGANIZATIONS = "/api/v1/organizations";

test.each<[string, (broken: Document) => void, string]>([
  [
    "a string without a bound",
    (broken) => delete broken.components.schemas.CreateOrganization.properties.name.maxLength,
    "schema CreateOrganization.name: a string without maxLength",
  ],
  [
    "a list without a bound",
    (broken) => delete broken.components.schemas.OrganizationPage.properties.items.maxItems,
    "schema OrganizationPage.items: a list without maxItems",
  ],
  [
    "a field without a description",
    (broken) => delete broken.components.schemas.Organization.properties.slug.description,
    "schema Organization.slug: no description",
  ],
  [
    "an answer that is left out",
    (broken) => delete broken.paths[ORGANIZATIONS].get.responses["401"],
    `GET ${ORGANIZATIONS}: no answer 401`,
  ],
  [
    "a body that takes anything",
    (broken) => delete broken.components.schemas.CreateOrganization.additionalProperties,
    `POST ${ORGANIZATIONS}: the body takes unknown fields`,
  ],
  [
    "a success without an example",
    (broken) => delete broken.components.schemas.OrganizationPage.example,
    `GET ${ORGANIZATIONS} 200 application/json: no example`,
  ],
])("%s is reported", (_, breakIt, fault) => {
  const broken = document();
  breakIt(broken);
  expect(lintOpenApi(broken)).toContain(fault);
});
