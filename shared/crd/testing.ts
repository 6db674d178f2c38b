import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { expect } from "vitest";
import { createClient, type KubeClient } from "../kube/client.ts";
import { loadConnection } from "../kube/connection.ts";
import { namespaceKind } from "../kube/core-kinds.ts";
import { KubeError } from "../kube/errors.ts";
import type { Kind, KubeObject } from "../kube/kind.ts";
import { createTransport } from "../kube/transport.ts";
import type { ResourceDefinition } from "./definition.ts";
import { API_VERSION } from "./names.ts";

/** A real API server with the resource definitions installed, and a namespace of this test's own. */
export interface TestApi {
  client: KubeClient;
  namespace: string;
  /** Runs kubectl; resolves to what it printed, rejects with an Error that holds its complaint. */
  kubectl(...args: string[]): Promise<string>;
  close(): Promise<void>;
}

/** MARINA_TEST_KUBECONFIG, from the set-up of the test run, says where; kubectl is the one in PATH. */
export async function openTestApi(): Promise<TestApi> {
  const kubeconfig = process.env.MARINA_TEST_KUBECONFIG;
  if (kubeconfig === undefined) throw new Error("MARINA_TEST_KUBECONFIG is not set");
  const transport = createTransport({ connection: loadConnection(kubeconfig) });
  const client = createClient(transport);
  const namespace = `crd-${randomBytes(5).toString("hex")}`;
  await client.create(namespaceKind, { metadata: { name: namespace } }, { fieldManager: "test" });
  return {
    client,
    namespace,
    async kubectl(...args) {
      const { stdout } = await promisify(execFile)("kubectl", ["--kubeconfig", kubeconfig, ...args]);
      return stdout;
    },
    async close() {
      await client.delete(namespaceKind, undefined, namespace);
      await transport.close();
    },
  };
}

/** What the API server says against it, as a person would read it; undefined when it accepts. */
export async function refusalOf(attempt: Promise<unknown>): Promise<string | undefined> {
  try {
    await attempt;
    return undefined;
  } catch (error) {
    if (error instanceof KubeError && error.isInvalid) return error.kubeMessage;
    throw error;
  }
}

/** An object of one of our kinds around a spec that may be wrong on purpose. */
export function objectOf<T extends KubeObject>(kind: Kind<T>, metadata: object, spec: unknown) {
  return { apiVersion: API_VERSION, kind: kind.kind, metadata, spec } as never;
}

export const clusterSpec = { version: "1.34.2" };

/** A spec to store where an operator may watch: no catalogue has this version, so no engine is set to work for it. */
export const idleClusterSpec = { version: "1.99.0" };

export const nodePoolSpec = {
  clusterName: "shop",
  vcpus: 4,
  memoryGB: 16,
  diskGB: 100,
  minNodes: 1,
  maxNodes: 5,
  desiredNodes: 3,
};

export const clusterAccessSpec = {
  clusterName: "shop",
  subject: "018f6f9e-7c3b-7a52-9d3e-2f6f0a4f1c11",
  ttlSeconds: 600,
  csr: "-----BEGIN CERTIFICATE REQUEST-----\nMIHsMIGT\n-----END CERTIFICATE REQUEST-----\n",
};

/** A spec as somebody would send it, and the complaint that it must meet; without one it must be accepted. */
export interface SpecCase {
  title: string;
  spec: object;
  refused?: string;
}

export const list = <T>(count: number, item: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => item(index));
export const long = (length: number) => "x".repeat(length);

/** Creates the object without storing it; resolves to the complaint, if there is one. */
export function tryCreate(api: TestApi, definition: ResourceDefinition, spec: object, name = "shop") {
  const object = objectOf(definition.kind as never, { name, namespace: api.namespace }, spec);
  return refusalOf(api.client.create(definition.kind, object, { fieldManager: "test", dryRun: true }));
}

/** What the API server complains of, and whether the schema (or rules) in TypeScript accept the same thing. */
export interface Answers {
  refusal: string | undefined;
  accepted: boolean;
}

/** Asks the API server and zod about one spec. */
export async function answersTo(
  api: TestApi,
  definition: ResourceDefinition,
  spec: object,
  name?: string,
): Promise<Answers> {
  const refusal = await tryCreate(api, definition, spec, name);
  return { refusal, accepted: definition.spec.safeParse(spec).success };
}

/** The answers that agree: both accept, or both refuse and the API server says this. */
export function bothAnswer(refused: string | undefined): Answers {
  return { refusal: refusalWith(refused), accepted: refused === undefined };
}

/** Matches a complaint that contains this text, or no complaint at all. */
export function refusalWith(refused: string | undefined): string | undefined {
  return refused === undefined ? undefined : (expect.stringContaining(refused) as unknown as string);
}

/** What the API server says to a name of 40 characters, one of 41 and one with a dot. */
export async function answersToNames(api: TestApi, definition: ResourceDefinition, spec: object) {
  const names = [long(40), long(41), "shop.eu"];
  return Promise.all(names.map((name) => tryCreate(api, definition, spec, name)));
}

export const nameAnswers = [
  undefined,
  refusalWith("metadata.name: Invalid value: must have at most 40 characters"),
  refusalWith("metadata.name: Invalid value: must not contain a dot"),
];

/** Cases at and just beyond both bounds of a number. */
export function boundCases(
  field: string,
  minimum: number,
  maximum: number,
  base: object,
  also: object = {},
): SpecCase[] {
  const spec = (value: number) => ({ ...base, ...also, [field]: value });
  return [
    { title: `${field} ${minimum}`, spec: spec(minimum) },
    { title: `${field} ${maximum}`, spec: spec(maximum) },
    {
      title: `${field} ${minimum - 1}`,
      spec: spec(minimum - 1),
      refused: `spec.${field} in body should be greater than or equal to ${minimum}`,
    },
    {
      title: `${field} ${maximum + 1}`,
      spec: spec(maximum + 1),
      refused: `spec.${field} in body should be less than or equal to ${maximum}`,
    },
    {
      title: `${field} with a fraction`,
      spec: spec(minimum + 0.5),
      refused: `spec.${field} in body must be of type integer`,
    },
  ];
}
