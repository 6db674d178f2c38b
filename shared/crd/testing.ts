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

/** A real API server with the CRDs installed, and a namespace of this test. */
export interface TestApi {
  client: KubeClient;
  namespace: string;
  /** Runs kubectl; resolves to its output, rejects with an Error that contains its error output. */
  kubectl(...args: string[]): Promise<string>;
  close(): Promise<void>;
}

/** Uses the kubeconfig MARINA_TEST_KUBECONFIG, set by the set-up of the test run, and the kubectl in PATH. */
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

/** The API server's message when it rejects the request as invalid; undefined when it accepts. */
export async function rejectionOf(attempt: Promise<unknown>): Promise<string | undefined> {
  try {
    await attempt;
    return undefined;
  } catch (error) {
    if (error instanceof KubeError && error.isInvalid) return error.kubeMessage;
    throw error;
  }
}

/** An object of a Marina kind with a spec that may be invalid. */
export function objectOf<T extends KubeObject>(kind: Kind<T>, metadata: object, spec: unknown) {
  return { apiVersion: API_VERSION, kind: kind.kind, metadata, spec } as never;
}

export const clusterSpec = { version: "1.34.2" };

/** A spec that a running operator does not act on: no catalogue has this version. */
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

/** A spec and the expected rejection; without one the spec must be accepted. */
export interface SpecCase {
  title: string;
  spec: object;
  rejected?: string;
}

export const list = <T>(count: number, item: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => item(index));
export const long = (length: number) => "x".repeat(length);

/** Creates the object in a dry run; resolves to the rejection, if any. */
export function tryCreate(api: TestApi, definition: ResourceDefinition, spec: object, name = "shop") {
  const object = objectOf(definition.kind as never, { name, namespace: api.namespace }, spec);
  return rejectionOf(api.client.create(definition.kind, object, { fieldManager: "test", dryRun: true }));
}

/** The API server's rejection, and whether the schema (or the rules) in TypeScript accept the same spec. */
export interface Validation {
  rejection: string | undefined;
  accepted: boolean;
}

/** Validates a spec by the API server and by zod. */
export async function validateSpec(
  api: TestApi,
  definition: ResourceDefinition,
  spec: object,
  name?: string,
): Promise<Validation> {
  const rejection = await tryCreate(api, definition, spec, name);
  return { rejection, accepted: definition.spec.safeParse(spec).success };
}

/** The expected validation: both accept, or both reject and the API server returns this message. */
export function bothReturn(rejected: string | undefined): Validation {
  return { rejection: rejectionWith(rejected), accepted: rejected === undefined };
}

/** Matches a rejection that contains this text, or no rejection. */
export function rejectionWith(rejected: string | undefined): string | undefined {
  return rejected === undefined ? undefined : (expect.stringContaining(rejected) as unknown as string);
}

/** The rejections of a name of 40 characters, one of 41 and one with a dot. */
export async function validateNames(api: TestApi, definition: ResourceDefinition, spec: object) {
  const names = [long(40), long(41), "shop.eu"];
  return Promise.all(names.map((name) => tryCreate(api, definition, spec, name)));
}

export const nameRejections = [
  undefined,
  rejectionWith("metadata.name: Invalid value: must have at most 40 characters"),
  rejectionWith("metadata.name: Invalid value: must not contain a dot"),
];

/** Cases at and beyond both bounds of a number. */
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
      rejected: `spec.${field} in body should be greater than or equal to ${minimum}`,
    },
    {
      title: `${field} ${maximum + 1}`,
      spec: spec(maximum + 1),
      rejected: `spec.${field} in body should be less than or equal to ${maximum}`,
    },
    {
      title: `${field} with a fraction`,
      spec: spec(minimum + 0.5),
      rejected: `spec.${field} in body must be of type integer`,
    },
  ];
}
