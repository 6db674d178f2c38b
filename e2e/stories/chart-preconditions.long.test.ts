import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { pathOfChart, REQUIRED_VALUES, runHelm, type Values } from "../testing/chart.ts";

const NAMESPACE = `chart-preconditions-${randomUUID().slice(0, 8)}`;
const ROLE = "clusterrole/marina-apiserver";

beforeAll(async () => {
  await kubectl(["create", "namespace", NAMESPACE]);
  await waitFor("its default ServiceAccount", () =>
    kubectl(["get", "serviceaccount", "default", "--namespace", NAMESPACE]),
  );
});
afterAll(() => kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]));

/** Helm's own refusal of what the stack has installed without it, which comes after the chart's. */
const FOREIGN_OBJECT = "cannot be imported into the current release";

/** The chart's refusal of an installation, which looks at the cluster; empty when it does not refuse. */
async function findRefusal(values: Values): Promise<string> {
  const args = ["template", "marina", pathOfChart("marina"), "--namespace", NAMESPACE, "--dry-run=server"];
  return runHelm(args, { ...REQUIRED_VALUES, ...values }).then(
    () => "",
    ({ stderr }: { stderr: string }) => {
      const [, refusal] = /execution error at \(\S+\): (.+)/.exec(stderr) ?? [];
      return refusal ?? (stderr.includes(FOREIGN_OBJECT) ? "" : stderr);
    },
  );
}

async function createSecret(name: string, ...keys: string[]): Promise<void> {
  const literals = keys.map((key) => `--from-literal=${key}=value`);
  await kubectl(["create", "secret", "generic", name, "--namespace", NAMESPACE, ...literals]);
}

test("a Secret or a key that is missing is reported before anything is made", async () => {
  expect(await findRefusal({})).toBe(
    `the Secret marina-database is not in the namespace ${NAMESPACE}: create it with the key url, or correct database.existingSecret`,
  );
  await createSecret("half-database", "url");
  expect(await findRefusal({ database: { existingSecret: "half-database" } })).toBe(
    `the Secret half-database in the namespace ${NAMESPACE} has no key ownerUrl: add it, or correct database.ownerUrlKey`,
  );
  await createSecret("marina-database", "url", "ownerUrl");
  expect(await findRefusal({})).toBe("");
  expect(await findRefusal({ webhooks: { existingSecret: "keys" } })).toContain("the Secret keys is not in");
  expect(await findRefusal({ registry: { existingSecret: "marina-database" } })).toContain(
    "has no key registry",
  );
  await createSecret("keys", "keys");
  expect(await findRefusal({ webhooks: { existingSecret: "keys" } })).toBe("");
});

test("a second release in the cluster is refused with the place of the first", async () => {
  const annotate = (...annotations: string[]) => kubectl(["annotate", ROLE, "--overwrite", ...annotations]);
  const owner = (namespace: string) => [
    "meta.helm.sh/release-name=marina",
    `meta.helm.sh/release-namespace=${namespace}`,
  ];
  const values = { database: { existingSecret: "both" } };
  await createSecret("both", "url", "ownerUrl");
  try {
    await annotate(...owner("elsewhere"));
    expect(await findRefusal(values)).toBe(
      "Marina is installed in this cluster already, as the release marina in the namespace elsewhere: upgrade that release, or uninstall it first",
    );
    await annotate(...owner(NAMESPACE));
    expect(await findRefusal(values)).toBe("");
  } finally {
    await annotate("meta.helm.sh/release-name-", "meta.helm.sh/release-namespace-");
  }
});
