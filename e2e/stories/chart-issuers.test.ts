import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findRefusal, pathOfChart, REQUIRED_VALUES, renderChart } from "../testing/chart.ts";

/** Each setting of an issuer. */
const EVERY_SETTING = {
  issuer: "https://id.example.com/realms/main",
  audience: ["marina", "account"],
  jwksUrl: "https://id.example.com/keys",
  caBundle: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
  subjectClaim: "oid",
  uuidSubjects: false,
  idNamespace: "https://old.example.com",
  acceptNewIds: true,
  emailClaim: "https://marina.example.com/email",
  emailVerifiedClaim: "xms_edov",
  trustEmail: true,
  admin: true,
  rolesClaim: ["resource_access", "my.client", "roles"],
  staffRole: "platform/staff",
  groupsClaim: ["resource_access", "my.client", "groups"],
  groups: [
    { group: "/acme/developers", organization: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11", role: "member" },
  ],
  groupsGraceSeconds: 600,
  types: ["", "JWT"],
  idTokens: true,
  clockToleranceSeconds: 0,
};

test("every setting of every issuer reaches the API server as it is written", async () => {
  const schema = JSON.parse(readFileSync(join(pathOfChart("marina"), "values.schema.json"), "utf8"));
  const { items } = schema.properties.oidc.properties.issuers;
  expect(Object.keys(EVERY_SETTING).sort()).toEqual(Object.keys(items.properties).sort());
  const issuers = [
    EVERY_SETTING,
    { issuer: "https://b.example.com", audience: "b", rolesClaim: "https://b/roles" },
  ];
  const { objects } = await renderChart("marina", "marina-issuers", {
    ...REQUIRED_VALUES,
    crds: { enabled: false },
    oidc: { issuers },
  });
  const values = objects
    .filter(({ kind }) => kind === "Deployment")
    .flatMap(({ spec }) => spec.template.spec.containers)
    .flatMap(({ env }) => env)
    .flatMap(({ name, value }) => (name === "MARINA_OIDC_ISSUERS" ? [JSON.parse(value)] : []));
  expect(values).toEqual([issuers]);
});

test.each<[string, object, RegExp]>([
  ["without an audience", { audience: undefined }, /audience/],
  ["without one in a list", { audience: [] }, /audience/],
  ["with an unknown setting", { rolePath: "roles" }, /'rolePath' not allowed/],
  ["with another scheme", { issuer: "ldap://id.example.com" }, /issuer/],
  ["with a clock tolerance of hours", { clockToleranceSeconds: 7200 }, /clockToleranceSeconds/],
  [
    "with a group that makes owners",
    { groups: [{ ...EVERY_SETTING.groups[0], role: "owner" }] },
    /groups.+role/s,
  ],
  [
    "with a group for an organization by its name",
    { groups: [{ ...EVERY_SETTING.groups[0], organization: "acme" }] },
    /groups.+organization/s,
  ],
  ["with a grace of months", { groupsGraceSeconds: 5_000_000 }, /groupsGraceSeconds/],
  ["with authorities that are no certificates", { caBundle: "/etc/ca.crt" }, /caBundle/],
])("an issuer %s is refused", async (_, change, expected) => {
  const issuers = [{ ...EVERY_SETTING, ...change }];
  expect(await findRefusal("marina", { ...REQUIRED_VALUES, oidc: { issuers } })).toMatch(expected);
});
