import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { toCompactJson } from "./compact.ts";
import { findSchemaBreaks, type SchemaNode } from "./schema-compatibility.ts";

const CURRENT = join(import.meta.dirname, "..", "..", "crds");
/** The definitions of the last release, replaced only when a release is made. */
const RELEASED_FILE = join(CURRENT, "released", "manifests.json");
/** A line for each part of a definition, and of a policy. */
const LINE_DEPTH = 3;
/** The folder of what an installation has beside the definitions. */
const POLICY = "policy";

type Node = Record<string, unknown>;

/**
 * Compares the definitions of two releases, by name. Returns one line per change that breaks existing objects,
 * manifests or clients: a removed kind, version or field, a stricter bound, a new rule. crdify misses removed short
 * names, subresources and served versions, and admission policies.
 */
export function findCrdBreaks(before: readonly Node[], after: readonly Node[]): string[] {
  const now = new Map(after.map((manifest) => [keyOf(manifest), manifest]));
  return before.flatMap((manifest) => {
    const key = keyOf(manifest);
    const current = now.get(key);
    if (current === undefined) return [`${key}: it was removed`];
    const pair = [nodeOf(manifest.spec), nodeOf(current.spec)] as const;
    if (manifest.kind === "CustomResourceDefinition") return compareDefinitions(...pair, key);
    return manifest.kind === "ValidatingAdmissionPolicy" ? comparePolicies(...pair, key) : [];
  });
}

function compareDefinitions(before: Node, after: Node, key: string): string[] {
  const [was, is] = [nodeOf(before.names), nodeOf(after.names)];
  const names = ["kind", "plural", "singular", "listKind"].filter((name) => was[name] !== is[name]);
  const shortNames = listOf(was.shortNames).filter((name) => !listOf(is.shortNames).includes(name));
  const breaks = [
    ...names.map((name) => `${key}: the ${name} changed`),
    ...shortNames.map((name) => `${key}: the short name ${String(name)} was removed`),
    ...(before.scope === after.scope ? [] : [`${key}: the scope changed`]),
  ];
  const versions = new Map(nodesOf(after.versions).map((version) => [version.name, version]));
  for (const version of nodesOf(before.versions)) {
    const where = `${key} ${String(version.name)}`;
    const current = versions.get(version.name);
    if (current === undefined || (version.served === true && current.served !== true))
      breaks.push(`${where}: it is no longer served`);
    else breaks.push(...compareVersions(version, current, where));
  }
  return breaks;
}

function compareVersions(before: Node, after: Node, where: string): string[] {
  const parts = Object.keys(nodeOf(before.subresources))
    .filter((name) => nodeOf(after.subresources)[name] === undefined)
    .map((name) => `${where}: the subresource ${name} was removed`);
  const [was, is] = [schemaOf(before), schemaOf(after)];
  const [statusBefore, statusAfter] = [statusOf(was), statusOf(is)];
  const read = { before: statusBefore, after: statusAfter, where: `${where}.status` };
  const breaks = [
    ...parts,
    ...findSchemaBreaks({ before: was, after: is, where, direction: "request" }),
    // The operator writes the status, clients read it.
    ...findSchemaBreaks({ ...read, direction: "response" }),
  ];
  return [...new Set(breaks)];
}

/**
 * A new validation may reject objects of every kind that the policy matches. One that excepts Marina's programs must go
 * on to except those of the last release, which write while an upgrade is under way; what it keeps from others may
 * change.
 */
function comparePolicies(before: Node, after: Node, key: string): string[] {
  const programs = exceptedPrograms(before);
  if (programs.length > 0) {
    const still = exceptedPrograms(after);
    return programs
      .filter((program) => !still.includes(program))
      .map((program) => `${key}: it no longer excepts ${program}`);
  }
  const expressionsOf = (policy: Node) =>
    nodesOf(policy.validations).map(({ expression }) => String(expression));
  const known = expressionsOf(before);
  return expressionsOf(after)
    .filter((expression) => !known.includes(expression))
    .map((expression) => `${key}: a new rule: ${expression}`);
}

/** The users for whom a condition of the policy says that it does not apply to them. */
function exceptedPrograms({ matchConditions }: Node): string[] {
  return nodesOf(matchConditions).flatMap(({ expression }) => {
    const [, users] = /^!\(request\.userInfo\.username in \[([^\]]*)\]\)$/.exec(String(expression)) ?? [];
    return users === undefined ? [] : users.split(",").map((user) => user.trim().replaceAll("'", ""));
  });
}

function schemaOf(version: Node): SchemaNode {
  return nodeOf(nodeOf(version.schema).openAPIV3Schema);
}

function statusOf(schema: SchemaNode): SchemaNode {
  return nodeOf(nodeOf(schema.properties).status);
}

function keyOf(manifest: Node): string {
  return `${String(manifest.kind)} ${String(nodeOf(manifest.metadata).name)}`;
}

function nodeOf(value: unknown): Node {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Node) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function nodesOf(value: unknown): Node[] {
  return listOf(value).map(nodeOf);
}

/** Every manifest of the YAML files in a folder, and of the policies in it. */
export function readManifests(folder: string): Node[] {
  const policies = join(folder, POLICY);
  const beside = existsSync(policies) ? readdirSync(policies).map((file) => join(POLICY, file)) : [];
  return [...readdirSync(folder), ...beside]
    .filter((file) => file.endsWith(".yaml"))
    .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), "utf8")))
    .map((document) => nodeOf(document.toJS()));
}

if (import.meta.main) {
  const released = JSON.parse(readFileSync(RELEASED_FILE, "utf8")) as Node[];
  const current = readManifests(CURRENT);
  const breaks = findCrdBreaks(released, current);
  if (breaks.length > 0 && !process.argv.includes("--break")) {
    process.stderr.write(
      `The custom resources are not compatible with the released ones:\n  ${breaks.join("\n  ")}\n`,
    );
    process.exitCode = 1;
  } else if (process.argv.includes("--renew")) {
    writeFileSync(RELEASED_FILE, `${toCompactJson(current, LINE_DEPTH)}\n`);
  }
}
