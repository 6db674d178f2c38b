import { z } from "zod";
import { ExplainedError } from "../program/errors.ts";
import type { Logger } from "../program/log.ts";
import { sleep } from "../program/time.ts";
import { KubeError, toKubeError } from "./errors.ts";
import { apiVersionOf, type Kind } from "./kind.ts";
import type { Transport } from "./transport.ts";

/** A server that does not answer for this long delays no start. */
const DEADLINE_MS = 5_000;
/** A new kind is discovered a moment after its definition is established. */
const NEXT_LOOK_AFTER_MS = 3_000;
/** The schemas of a changed definition were seen to be published up to 10 s later, on a busy machine. */
const LOOKS_FOR_FIELDS = 6;

/** Kinds that are installed together. */
export interface Requirement {
  kinds: readonly RequiredKind[];
  /** What to do when one is missing or too old: the end of a sentence, after a colon. */
  remedy: string;
  /** What to do when one has fields that this program does not know, where that can be: the same. */
  newerRemedy?: string;
}

interface RequiredKind {
  kind: Kind<unknown>;
  /** The fields that this program reads or writes, as listFields names them. */
  fields: readonly string[];
}

/** The schemas of the kinds that a server serves: by apiVersion, those of a version by kind. */
type Served = ReadonlyMap<string, ReadonlyMap<string, ObjectSchema>>;

/** One sentence for each requirement of which a kind is not served. */
export function findMissingKinds(requirements: readonly Requirement[], served: Served): string[] {
  return requirements.flatMap(({ kinds, remedy }) => {
    const missing = kinds.filter(({ kind }) => schemaOf(kind, served) === undefined);
    if (missing.length === 0) return [];
    const names = missing.map(({ kind }) => `${nameOf(kind)} (version ${kind.version})`).join(", ");
    return [`The management cluster has no CustomResourceDefinition ${names}: ${remedy}.`];
  });
}

/** One sentence for each requirement of which a kind lacks fields; kinds without a published schema lack none. */
export function findOlder(requirements: readonly Requirement[], served: Served): string[] {
  return requirements.flatMap(({ kinds, remedy }) => {
    const old = kinds.flatMap(({ kind, fields }) => {
      const known = new Set(listFields(schemaOf(kind, served) ?? {}));
      const [first] = known.size === 0 ? [] : fields.filter((field) => !known.has(field));
      return first === undefined ? [] : [`${nameOf(kind)} (without ${first})`];
    });
    if (old.length === 0) return [];
    return [`CustomResourceDefinitions are older than this program, ${old.join(", ")}: ${remedy}.`];
  });
}

/** One sentence for each requirement whose kinds have fields that this program does not know. */
export function findNewer(requirements: readonly Requirement[], served: Served): string[] {
  return requirements.flatMap(({ kinds, newerRemedy }) => {
    if (newerRemedy === undefined) return [];
    const newer = kinds.flatMap(({ kind, fields }) => {
      const known = new Set(fields);
      const [first] = listFields(schemaOf(kind, served) ?? {}).filter((field) => !known.has(field));
      return first === undefined ? [] : [`${nameOf(kind)} (with ${first})`];
    });
    if (newer.length === 0) return [];
    return [`CustomResourceDefinitions are newer than this program, ${newer.join(", ")}: ${newerRemedy}.`];
  });
}

/**
 * Rejects with an ExplainedError when the server does not serve a kind with all fields, after it has looked for it for
 * some seconds; two requests for each group and version at each look. Newer kinds are a warning. When the server cannot
 * answer, it logs that and resolves.
 */
export async function requireKinds(
  transport: Pick<Transport, "request">,
  requirements: readonly Requirement[],
  log: Logger,
): Promise<void> {
  try {
    const served = await lookFor(requirements, () => readServed(transport, requirements));
    const faults = [...findMissingKinds(requirements, served), ...findOlder(requirements, served)];
    if (faults.length > 0) throw new ExplainedError(faults.join("\n"));
    for (const sentence of findNewer(requirements, served)) log.warn(sentence);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    log.warn({ err: error }, "the kinds of the management cluster could not be read");
  }
}

/** What is served, looked at again while something is missing that may just not be shown yet. */
async function lookFor(requirements: readonly Requirement[], look: () => Promise<Served>): Promise<Served> {
  for (let looks = 1; ; looks++) {
    const served = await look();
    const mayAppear = findMissingKinds(requirements, served).length > 0 && looks < 2;
    const mayGrow = findOlder(requirements, served).length > 0 && looks < LOOKS_FOR_FIELDS;
    if (!mayAppear && !mayGrow) return served;
    await sleep(NEXT_LOOK_AFTER_MS);
  }
}

function schemaOf(kind: Kind<unknown>, served: Served): ObjectSchema | undefined {
  return served.get(apiVersionOf(kind))?.get(kind.kind);
}

function nameOf({ plural, group }: Kind<unknown>): string {
  return `${plural}.${group}`;
}

async function readServed(
  transport: Pick<Transport, "request">,
  requirements: readonly Requirement[],
): Promise<Served> {
  const kinds = requirements.flatMap((requirement) => requirement.kinds.map(({ kind }) => kind));
  const versions = [...new Set(kinds.map(apiVersionOf))];
  const readOne = async (version: string) => [version, await readSchemas(transport, version)] as const;
  return new Map(await Promise.all(versions.map(readOne)));
}

/** An APIResourceList, of which only the kinds count. */
const resourceListSchema = z.object({ resources: z.array(z.object({ kind: z.string() })) });

interface PublishedSchema extends ObjectSchema {
  "x-kubernetes-group-version-kind"?: { group: string; version: string; kind: string }[];
}

const documentSchema = z.object({
  components: z.object({ schemas: z.record(z.string(), z.custom<PublishedSchema>(isObject)) }),
});

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/**
 * The schemas of the kinds of a group and version, empty where none is published yet. The OpenAPI document keeps those
 * of kinds that are served no longer (seen with Kubernetes 1.36): only the discovery of kinds shows that.
 */
async function readSchemas(
  transport: Pick<Transport, "request">,
  version: string,
): Promise<Map<string, ObjectSchema>> {
  const [discovered, published] = await Promise.all([
    read(transport, `/apis/${version}`),
    read(transport, `/openapi/v3/apis/${version}`),
  ]);
  if (discovered === undefined) return new Map();
  const kinds = resourceListSchema.parse(discovered).resources.map(({ kind }) => kind);
  const schemas = published === undefined ? {} : documentSchema.parse(published).components.schemas;
  const named = Object.values(schemas).flatMap((schema) =>
    (schema["x-kubernetes-group-version-kind"] ?? [])
      .filter(({ group, version: one }) => `${group}/${one}` === version)
      .map(({ kind }): [string, ObjectSchema] => [kind, schema]),
  );
  const byKind = new Map(named);
  return new Map(kinds.map((kind) => [kind, byKind.get(kind) ?? {}]));
}

/** The body of a response; undefined for what does not exist. */
async function read(transport: Pick<Transport, "request">, path: string): Promise<unknown> {
  const response = await transport.request({ method: "GET", path, timeoutMs: DEADLINE_MS });
  if (response.status === 404) return undefined;
  if (response.status >= 300) throw toKubeError(response, `GET ${path}`);
  return response.body;
}

/** An OpenAPI schema as far as its fields go. */
interface ObjectSchema {
  properties?: Record<string, ObjectSchema>;
  items?: ObjectSchema;
  additionalProperties?: ObjectSchema | boolean;
}

/** apiVersion, kind and metadata, which every kind has. */
const COMMON = ["apiVersion", "kind", "metadata"];

/**
 * Every field of an object of a kind, as `spec.taints[].key`; `.*` is any key of a map. Without those that every kind
 * has.
 */
export function listFields(schema: ObjectSchema): string[] {
  const { properties = {} } = schema;
  return Object.entries(properties).flatMap(([name, field]) =>
    COMMON.includes(name) ? [] : [name, ...listBelow(field, name)],
  );
}

function listBelow({ properties = {}, items, additionalProperties }: ObjectSchema, path: string): string[] {
  const named = Object.entries(properties).flatMap(([name, field]) => [
    `${path}.${name}`,
    ...listBelow(field, `${path}.${name}`),
  ]);
  const elements = items === undefined ? [] : listBelow(items, `${path}[]`);
  const entries =
    typeof additionalProperties === "object" ? listBelow(additionalProperties, `${path}.*`) : [];
  return [...named, ...elements, ...entries];
}
