import { expect } from "vitest";
import { API_VERSION } from "../names.ts";
import { clusterAccessSpec, idleClusterSpec, nodePoolSpec } from "../testing.ts";
import { KINDS, pathOf, type RawAnswer, type RawRequest, type Send, type Writer } from "./testing.ts";

/** Where attempts are made. */
export interface World {
  send: Send;
  namespace: string;
}

export type Request = (world: World) => Promise<RawRequest> | RawRequest;

/**
 * One attempt, as a row of a table: who tries what, and a part of the message that refuses it; undefined = it is
 * allowed. Nothing of it is stored: each is a dry run.
 */
export type Attempt = [who: Writer, what: string, request: Request, refused?: string];

type Body = Record<string, unknown>;
/** The manager that a request names, or the program that sends it. */
interface Sender {
  manager?: string;
  userAgent?: string;
}

const DRY_RUN = { dryRun: "All" };
const SPECS: Record<string, object> = {
  clusters: idleClusterSpec,
  nodepools: nodePoolSpec,
  clusteraccesses: { ...clusterAccessSpec, subject: "jane@example.com" },
  storageinventories: {},
};

/** A whole object of a kind with a valid spec. */
export function composeObject(
  resource: string,
  name: string,
  metadata: Body = {},
  spec: Body = {},
): Record<string, unknown> {
  return {
    apiVersion: API_VERSION,
    kind: KINDS[resource]?.kind,
    metadata: { name, ...metadata },
    spec: { ...SPECS[resource], ...spec },
  };
}

const queryOf = ({ manager }: Sender) => ({
  ...DRY_RUN,
  ...(manager === undefined ? {} : { fieldManager: manager }),
});

/** POST of a whole object. */
export function create(resource: string, metadata: Body = {}, spec: Body = {}, sender: Sender = {}) {
  return ({ namespace }: World): RawRequest => ({
    method: "POST",
    path: pathOf(resource, namespace),
    query: queryOf(sender),
    userAgent: sender.userAgent,
    body: composeObject(
      resource,
      resource === "storageinventories" ? "shared-storage" : "new",
      metadata,
      spec,
    ),
  });
}

/** A merge patch, of the object or of a part of it: `clusters/shop/status`. */
export function merge(target: string, body: Body, sender: Sender = {}) {
  return ({ namespace }: World): RawRequest => ({
    method: "PATCH",
    path: at(target, namespace),
    query: queryOf(sender),
    userAgent: sender.userAgent,
    contentType: "application/merge-patch+json",
    body,
  });
}

/** A JSON patch. */
export function jsonPatch(target: string, ...operations: object[]) {
  return ({ namespace }: World): RawRequest => ({
    method: "PATCH",
    path: at(target, namespace),
    query: DRY_RUN,
    contentType: "application/json-patch+json",
    body: operations,
  });
}

/** Server-side apply, forced, as of GitOps. */
export function apply(target: string, metadata: Body = {}, spec: Body = {}, manager = "argocd-controller") {
  const [resource = "", name = ""] = target.split("/");
  return ({ namespace }: World): RawRequest => ({
    method: "PATCH",
    path: at(target, namespace),
    query: { ...DRY_RUN, fieldManager: manager, force: "true" },
    contentType: "application/apply-patch+yaml",
    body: composeObject(resource, name, metadata, spec),
  });
}

/** `kubectl replace` of a manifest that knows name and spec alone, besides what is given. */
export function replace(target: string, metadata: Body = {}, spec: Body = {}) {
  const [resource = "", name = ""] = target.split("/");
  return async ({ send, namespace }: World): Promise<RawRequest> => {
    const path = at(target, namespace);
    const { body: live } = await send("admin", { method: "GET", path });
    const { resourceVersion } = live.metadata;
    const body = composeObject(resource, name, { resourceVersion, ...metadata }, { ...live.spec, ...spec });
    return { method: "PUT", path, query: { ...DRY_RUN, fieldManager: "kubectl-replace" }, body };
  };
}

/** A PUT of the live object with these fields, without naming a manager. */
export function update(target: string, { metadata = {}, spec = {} }: { metadata?: Body; spec?: Body }) {
  return async ({ send, namespace }: World): Promise<RawRequest> => {
    const path = at(target, namespace);
    const { body: live } = await send("admin", { method: "GET", path });
    const body = { ...live, metadata: { ...live.metadata, ...metadata }, spec: { ...live.spec, ...spec } };
    return { method: "PUT", path, query: DRY_RUN, body };
  };
}

/** DELETE of an object, or of all of a kind. */
export function remove(target: string, propagationPolicy = "Background") {
  return ({ namespace }: World): RawRequest => ({
    method: "DELETE",
    path: at(target, namespace),
    query: { ...DRY_RUN, propagationPolicy },
  });
}

function at(target: string, namespace: string): string {
  const [resource = "", name, part] = target.split("/");
  return pathOf(resource, namespace, name, part);
}

/** Sends a request; once more when the operator has written the object since it was read. */
export async function attempt(world: World, who: Writer, request: Request): Promise<RawAnswer> {
  for (;;) {
    const answer = await world.send(who, await request(world));
    if (answer.status !== 409 || answer.body.reason !== "Conflict") return answer;
  }
}

/** Makes the attempt, and expects its answer. */
export async function expectAnswer(world: World, [who, , request, refused]: Attempt): Promise<void> {
  const { status, body } = await attempt(world, who, request);
  if (refused === undefined) expect(body.message ?? "").toBe("");
  else expect(body.message).toContain(refused);
  expect(status >= 200 && status < 300).toBe(refused === undefined);
}

/** Creates an object, and its status if any, as an administrator or another writer. */
export async function make(
  { send, namespace }: World,
  target: string,
  { status, spec, ...metadata }: Body & { status?: Body; spec?: Body },
  writer: Writer = "admin",
): Promise<void> {
  const [resource = "", name = ""] = target.split("/");
  const body = composeObject(resource, name, metadata, spec);
  const path = pathOf(resource, namespace);
  const made = await send(writer, { method: "POST", path, body });
  if (made.status !== 201) throw new Error(made.body.message);
  if (status === undefined) return;
  const patched = await send("admin", {
    method: "PATCH",
    path: pathOf(resource, namespace, name, "status"),
    contentType: "application/merge-patch+json",
    body: { status },
  });
  if (patched.status !== 200) throw new Error(patched.body.message);
}
