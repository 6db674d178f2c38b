import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { expect } from "vitest";
import { createClient, type KubeClient } from "../kube/client.ts";
import { namespaceKind } from "../kube/core-kinds.ts";
import { KubeError } from "../kube/errors.ts";
import type { Kind, KubeObject } from "../kube/kind.ts";
import { createTransport, loadConnection } from "../kube/transport.ts";
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

export async function openTestApi(): Promise<TestApi> {
  const kubeconfig = process.env.MARINA_TEST_KUBECONFIG ?? "";
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

/** The API server and zod must agree, and the API server must say what is wrong and where. */
export async function expectSameAnswer(
  api: TestApi,
  definition: ResourceDefinition,
  { spec, refused }: SpecCase,
  name?: string,
) {
  const refusal = await tryCreate(api, definition, spec, name);
  const parsed = definition.spec.safeParse(spec);
  if (refused === undefined) expect(refusal).toBeUndefined();
  else expect(refusal).toContain(refused);
  expect(parsed.success, `zod: ${JSON.stringify(parsed.error?.issues)}`).toBe(refused === undefined);
}

/** What every kind but StorageInventory demands of its names. */
export async function expectNameRules(api: TestApi, definition: ResourceDefinition, spec: object) {
  const tooLong = "metadata.name: Invalid value: must have at most 40 characters";
  expect(await tryCreate(api, definition, spec, long(40))).toBeUndefined();
  expect(await tryCreate(api, definition, spec, long(41))).toContain(tooLong);
  const dotted = "metadata.name: Invalid value: must not contain a dot";
  expect(await tryCreate(api, definition, spec, "shop.eu")).toContain(dotted);
}

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
