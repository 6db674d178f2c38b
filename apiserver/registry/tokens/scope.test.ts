import { expect, test } from "vitest";
import { grantActions, parseScopes } from "./scope.ts";
import { readBasicPassword } from "./sign.ts";

const orgId = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const repository = `org-${orgId}/team/web`;
const pull = { orgId, repository, actions: ["pull"] };

test.each([
  [[`repository:${repository}:pull`], [pull]],
  [[`repository:${repository}:pull,push`], [{ ...pull, actions: ["pull", "push"] }]],
  [[`repository:${repository}:pull repository:${repository}:pull`], [pull, pull]],
  [["registry:catalog:*"], []],
  [["repository:library/debian:pull"], []],
  [[`repository:org-${orgId}/../x:pull`], []],
  [[`repository:org-${orgId.toUpperCase()}/web:pull`], []],
  [[`repository:org-${orgId}/:pull`], []],
  [[""], []],
  [
    Array.from({ length: 100 }, () => `repository:${repository}:pull`),
    Array.from({ length: 16 }, () => pull),
  ],
])("the scopes %j ask for %j", (parameters, expected) => {
  expect(parseScopes(parameters)).toEqual(expected);
});

test.each([
  [["pull", "push"], { canRead: true, canWrite: false }, ["pull"]],
  [["pull", "push"], { canRead: true, canWrite: true }, ["pull", "push"]],
  [["delete"], { canRead: true, canWrite: false }, []],
  [["*"], { canRead: true, canWrite: true }, ["pull", "push", "delete"]],
  [["pull"], { canRead: false, canWrite: false }, []],
])("of %j a holder of %j gets %j", (requested, rights, expected) => {
  expect(grantActions(requested, rights)).toEqual(expected);
});

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
test.each([
  [basic("anyone:secret"), "secret"],
  [basic("anyone:se:cret"), "se:cret"],
  [basic("anyone:"), undefined],
  [basic("secret"), undefined],
  ["Bearer secret", undefined],
  [undefined, undefined],
])("the password of %s is %s", (header, expected) => {
  expect(readBasicPassword(header)).toBe(expected);
});
