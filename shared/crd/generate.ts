import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toCompactYaml } from "./compact.ts";
import { buildCustomResourceDefinition } from "./definition.ts";
import { resourceDefinitions } from "./definitions.ts";
import { buildIdentityPolicy } from "./identity.ts";
import { buildReservedPolicies } from "./reserved/policy.ts";
import { type ReservedWrite, reservations } from "./reserved/table.ts";

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

/**
 * The generated files of `crds/policy/`: what fits an installation only where Marina's programs have separate
 * identities.
 */
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
  return HEADER + documents.map(toCompactYaml).join("---\n");
}

const INTRODUCTION = `<!-- Generated from shared/crd by \`npm run generate\`. Do not edit. -->

# What is reserved

A right to write clusters and node pools by \`kubectl\` or GitOps is no right to what decides who pays for a machine, whose an
object is, and what is deleted. A ValidatingAdmissionPolicy of the chart refuses each attempt with a message that says what to
do, whatever the verb: create, update, patch, apply, replace, delete, scale. Marina's own programs, which are known by their
ServiceAccounts, may write all of it.

The rights below are the verb \`update\` on a subresource of the group \`cloud.marina.dev\`. Only the policy asks for them: they
are no subresources that the Kubernetes API serves. Whether you have \`clusters/suspension\` tells
\`kubectl auth can-i update clusters.cloud.marina.dev --subresource=suspension\`.
`;

const CLOSING = `
On the Namespace of an organization, labels and annotations of \`cloud.marina.dev\` need \`update\` on \`clusters/identity\` in all
Namespaces. Only \`cloud.marina.dev/allowed-registration\`, which says what \`spec.registration\` may have there, may also be set by who
has \`clusters/registration\` in all Namespaces: a RoleBinding in one of them is not enough. A cluster with the annotation \`cloud.marina.dev/hold\` is deleted by no one, Marina's programs included.
These write no Namespaces but those of organizations (\`org-*\`), and in others that belong to one the label
\`cloud.marina.dev/protected\`, with which only Marina deletes a Namespace.

Lift \`spec.deletionProtection\` before a \`clusterctl move\`: its last request deletes the object in the source, which is refused otherwise.

Who may change a cluster or node pool and not delete it has no end date delete it, as by REST: setting \`spec.expiresAt\` of an existing one, bringing it
forward, and lifting \`spec.deletionProtection\`, \`cloud.marina.dev/hold\` or \`spec.suspend\` of one that has an end date take the verb \`delete\` on that
object, which \`marina-restore\` has not. The end dates of the node pools of a suspended cluster are not looked at when it is resumed. A later
end date, its removal, and an end date at the creation do not. Where the present one is not after the creation, as of what came back
from a backup after its end, every other end date does.

A ClusterAccess by \`kubectl\` gives no right to a user whom the API would refuse. One whose subject is an e-mail address or the
id of a user waits (reason \`WaitingForIdentity\`) until Marina's API server has looked the person up: who is no member of the
organization with a right to its clusters gets nothing (reason \`AccessRefused\`). Within 30 s after a person ceases to be one, the
access is deleted and what Marina granted through it is taken away. The certificate is valid until it expires, after seven days at
most: for so long the cluster knows an e-mail address as a user, and bindings that the tenant made for that name still hold. Remove
them yourself. Those for the id of a user are removed with the last access of the user.
Any other subject is a name that is no person's, and ends with the access, after seven days at most. One that comes from a backup
is issued again when Marina's API server knows it, and it has neither expired nor been revoked; it ends when it would have ended.

Refused attempts are in the audit log of the Kubernetes API, under the annotation
\`validation.policy.admission.k8s.io/validation_failure\`, and counted in its metric
\`apiserver_validating_admission_policy_check_total\` with \`enforcement_action="deny"\`.
`;

function rightsOf({ resources, right, holders }: ReservedWrite): string {
  if (right === undefined) return "no one else";
  const names = resources.map((resource) => `\`${resource}/${right}\``).join(", ");
  return holders === undefined ? names : `${names}: ${holders.when}`;
}

/** The page of the documentation that lists everything that is reserved. */
export function renderReservations(): string {
  const rows = reservations.map((reservation) => [reservation.what, rightsOf(reservation)]);
  const table = [["what", "who may write it besides Marina"], ["---", "---"], ...rows];
  return `${INTRODUCTION}\n${table.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n${CLOSING}`;
}

async function main(): Promise<void> {
  const root = join(import.meta.dirname, "../..");
  const folder = join(root, "crds");
  const policies = join(folder, "policy");
  const page = join(root, "docs", "operators", "reserved.md");
  if (!process.argv.includes("--check")) {
    await mkdir(policies, { recursive: true });
    for (const [name, text] of renderFiles()) await writeFile(join(folder, name), text);
    for (const [name, text] of renderPolicies()) await writeFile(join(policies, name), text);
    await writeFile(page, renderReservations());
    return;
  }
  const stale = [...(await findStaleFiles(folder)), ...(await findStaleFiles(policies, renderPolicies()))];
  if ((await readFile(page, "utf8").catch(() => "")) !== renderReservations())
    stale.push("docs/operators/reserved.md");
  if (stale.length === 0) return;
  process.stderr.write(`Stale in crds/ and docs/: ${stale.join(", ")}. Run \`npm run generate\`.\n`);
  process.exitCode = 1;
}

if (import.meta.main) await main();
