import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { resourceDefinitions } from "./definitions.ts";
import { buildCustomResourceDefinition } from "./manifest.ts";
import { GROUP, LABEL_ID, LABEL_ORG_ID, UUID_PATTERN, VERSION } from "./names.ts";
import { renderReservations } from "./reserved/document.ts";
import { buildReservedPolicies } from "./reserved/policy.ts";

const POLICY_NAME = "identity.cloud.marina.dev";

const labelOf = (object: string, label: string) =>
  `(has(${object}.metadata.labels) && '${label}' in ${object}.metadata.labels ? ${object}.metadata.labels['${label}'] : '')`;

/** The status holds the id: a manifest without the labels may replace the object, and the operator sets them again. */
const IS_REMEMBERED = `has(oldObject.status) && has(oldObject.status.id)`;

const HEADER = "# Generated from shared/crd by `npm run generate`. Do not edit.\n";

/** The generated files of `crds/` by name. */
export function renderFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const definition of resourceDefinitions) {
    const { plural, group } = definition.kind;
    files.set(`${group}_${plural}.yaml`, render([buildCustomResourceDefinition(definition)]));
  }
  files.set("validating-admission-policy.yaml", render(buildIdentityPolicy()));
  return files;
}

/** The generated files of `crds/policy/`: what fits an installation only where Marina's programs have separate identities. */
export function renderPolicies(): Map<string, string> {
  return new Map([["reserved.yaml", render(buildReservedPolicies())]]);
}

/** Names of files in the folder that are outdated, missing, or not generated. */
export async function findStaleFiles(folder: string, wanted = renderFiles()): Promise<string[]> {
  const found = await readFolder(folder);
  return [...new Set([...wanted.keys(), ...found.keys()])]
    .filter((name) => wanted.get(name) !== found.get(name))
    .sort();
}

async function readFolder(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return new Map(names.map((name, index) => [name, texts[index] ?? ""]));
}

function render(documents: unknown[]): string {
  const options = { aliasDuplicateObjects: false, lineWidth: 0 };
  return HEADER + documents.map((document) => stringify(document, options)).join("---\n");
}

async function main(): Promise<void> {
  const root = join(import.meta.dirname, "../..");
  const folder = join(root, "crds");
  const policies = join(folder, "policy");
  const page = join(root, "docs", "reserved.md");
  if (!process.argv.includes("--check")) {
    await mkdir(policies, { recursive: true });
    for (const [name, text] of renderFiles()) await writeFile(join(folder, name), text);
    for (const [name, text] of renderPolicies()) await writeFile(join(policies, name), text);
    await writeFile(page, renderReservations());
    return;
  }
  const stale = [...(await findStaleFiles(folder)), ...(await findStaleFiles(policies, renderPolicies()))];
  if ((await readFile(page, "utf8").catch(() => "")) !== renderReservations()) stale.push("docs/reserved.md");
  if (stale.length === 0) return;
  process.stderr.write(`Stale in crds/ and docs/: ${stale.join(", ")}. Run \`npm run generate\`.\n`);
  process.exitCode = 1;
}

if (import.meta.main) await main();

function identityRules(label: string) {
  const now = labelOf("object", label);
  const before = labelOf("oldObject", label);
  return [
    {
      expression: `!has(object.metadata.labels) || !('${label}' in object.metadata.labels) || ${now}.matches('${UUID_PATTERN}')`,
      message: `metadata.labels[${label}]: must be a UUID in lower case`,
      reason: "Invalid",
    },
    {
      expression: `oldObject == null || ${before} == '' || ${now} == ${before} || ${now} == '' && ${IS_REMEMBERED}`,
      message: `metadata.labels[${label}]: cannot be changed once it is set`,
      reason: "Invalid",
    },
  ];
}

/**
 * The ValidatingAdmissionPolicy with its binding: the labels of the public id and the organization's id are lower-case
 * UUIDs, and never get another value. A CRD schema cannot validate labels.
 */
function buildIdentityPolicy() {
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: POLICY_NAME },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [GROUP],
              apiVersions: [VERSION],
              operations: ["CREATE", "UPDATE"],
              resources: ["clusters", "nodepools", "clusteraccesses", "storageinventories"],
            },
            {
              apiGroups: [""],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE"],
              resources: ["namespaces"],
            },
          ],
        },
        validations: [LABEL_ID, LABEL_ORG_ID].flatMap(identityRules),
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: POLICY_NAME },
      spec: { policyName: POLICY_NAME, validationActions: ["Deny"] },
    },
  ];
}
