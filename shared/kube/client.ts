import { messageOf } from "../program/errors.ts";
import type { TenantContext } from "../program/limits.ts";
import { ACCEPT_DISCOVERY, readListableKinds } from "./discovery.ts";
import { KubeError, toKubeError } from "./errors.ts";
import { apiVersionOf, type Kind, type KubeObject } from "./kind.ts";
import { acceptOf, collectionPath, metadataOf, objectPath, readAs } from "./object.ts";
import { APPLY_PATCH, type Transport, type TransportRequest } from "./transport.ts";
import { type WatchEvent, type WatchOptions, watchEvents } from "./watch.ts";

export type { WatchEvent, WatchOptions } from "./watch.ts";

/**
 * Objects per page. The API server's cost of a page grows with the number of all objects: with 10,000 clusters the
 * operator starts in 40 s with pages of 500 (as client-go), 36 s with 750 and 29 s with 1000, and peaks at 477, 472 and
 * 521 MB.
 */
export const LIST_PAGE_SIZE = 750;

/** The object of a write request: absent fields are left to the server, apiVersion and kind are added. */
export type DeepPartial<T> = T extends (infer E)[]
  ? DeepPartial<E>[]
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T;

/** `timeoutMs` is the deadline of the whole call, retries included (default: the transport's). */
export interface CallOptions {
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Whose share of the calls it takes; see TransportRequest. */
  tenant?: TenantContext | undefined;
}

export interface WriteOptions extends CallOptions {
  fieldManager: string;
  /** kube-apiserver runs every check and stores nothing. */
  dryRun?: boolean | undefined;
  /** In which kube-apiserver ends the request once it has it, also when the client has given up. */
  serverTimeoutMs?: number | undefined;
}

export interface PatchOptions extends WriteOptions {
  subresource?: "status" | "scale" | undefined;
}

export interface ApplyOptions extends PatchOptions {
  /** Takes ownership of fields from other managers; without it a conflict is a KubeError with `isConflict`. */
  force?: boolean | undefined;
}

export interface DeleteOptions extends CallOptions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  propagationPolicy?: "Background" | "Foreground" | "Orphan" | undefined;
  dryRun?: boolean | undefined;
  /** See WriteOptions. */
  serverTimeoutMs?: number | undefined;
}

/** Without `namespace`: the whole cluster. */
export interface ListAllOptions extends CallOptions {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

export interface ListOptions extends ListAllOptions {
  limit?: number | undefined;
  continue?: string | undefined;
}

export interface ListResult<T> {
  items: T[];
  resourceVersion: string;
  continue?: string;
}

/** One operation of RFC 6902. */
export interface JsonPatchOperation {
  op: "add" | "remove" | "replace" | "test" | "move" | "copy";
  path: string;
  value?: unknown;
  from?: string;
}

/** Typed calls to one API server. A failed call rejects with a KubeError; one without a name or namespace is a TypeError at once. */
export interface KubeClient {
  /** Undefined when there is no such object. */
  get<T>(
    kind: Kind<T>,
    namespace: string | undefined,
    name: string,
    opts?: CallOptions,
  ): Promise<T | undefined>;
  /** One page (all objects without `limit`). Pass `continue` of the last page for the next one. */
  list<T>(kind: Kind<T>, opts?: ListOptions): Promise<ListResult<T>>;
  /** All objects, read in pages. */
  listAll<T>(kind: Kind<T>, opts?: ListAllOptions): Promise<T[]>;
  /**
   * All namespaced kinds that can be listed, read as metadata only. Rejects also while an API server behind this one
   * does not respond.
   */
  listKinds(opts?: CallOptions): Promise<Kind<KubeObject>[]>;
  /** The namespace is `object.metadata.namespace`. */
  create<T>(kind: Kind<T>, object: DeepPartial<NoInfer<T>>, opts: WriteOptions): Promise<T>;
  /** Server-side apply of all fields that the manager owns; creates a missing object. */
  apply<T>(kind: Kind<T>, object: DeepPartial<NoInfer<T>>, opts: ApplyOptions): Promise<T>;
  /** RFC 7386; `metadata.resourceVersion` in the patch makes it conditional (409 when the object changed). */
  mergePatch<T>(
    kind: Kind<T>,
    namespace: string | undefined,
    name: string,
    patch: object,
    opts: PatchOptions,
  ): Promise<T>;
  /** RFC 6902. Operations that do not fit the object as it is now, as a failed `test`, are a KubeError with `isConflict`. */
  jsonPatch<T>(
    kind: Kind<T>,
    namespace: string | undefined,
    name: string,
    operations: JsonPatchOperation[],
    opts: PatchOptions,
  ): Promise<T>;
  /** Resolves when the API accepted the deletion or the object does not exist. Finalizers may still delay it. */
  delete<T>(kind: Kind<T>, namespace: string | undefined, name: string, opts?: DeleteOptions): Promise<void>;
  /** Ends when the server closes the watch; throws a KubeError on an ERROR event (410: `isGone`) or a broken stream. */
  watch<T>(kind: Kind<T>, opts: WatchOptions): AsyncIterable<WatchEvent<T>>;
}

export interface ClientOptions {
  /** Checked right before every attempt of a write; false ends the call with a KubeError. */
  mayWrite?: (() => boolean) | undefined;
}

/** A client without state: several may share a transport. */
export function createClient(transport: Transport, { mayWrite }: ClientOptions = {}): KubeClient {
  async function call<T>(kind: Kind<unknown>, request: TransportRequest): Promise<T> {
    const mayStillSend = request.method === "GET" ? undefined : mayWrite;
    const response = await transport.request({ ...request, kindPlural: kind.plural, mayStillSend });
    if (response.status >= 300) throw toKubeError(response, `${request.method} ${request.path}`);
    return response.body as T;
  }

  async function list<T>(kind: Kind<T>, opts: ListOptions = {}): Promise<ListResult<T>> {
    const body = await call<ListBody<T>>(kind, {
      method: "GET",
      path: collectionPath(kind, opts.namespace),
      query: { ...selectors(opts), limit: opts.limit, continue: opts.continue },
      accept: acceptOf(kind, "list"),
      ...callOptions(opts),
    });
    const next = body.metadata.continue;
    return {
      items: (body.items ?? []).map((item) => readAs(kind, item)),
      resourceVersion: body.metadata.resourceVersion ?? "",
      ...(next && { continue: next }),
    };
  }

  async function listAll<T>(kind: Kind<T>, opts: ListAllOptions = {}): Promise<T[]> {
    const items: T[] = [];
    let next: string | undefined;
    do {
      const page: ListResult<T> = await list(kind, { ...opts, limit: LIST_PAGE_SIZE, continue: next });
      items.push(...page.items);
      next = page.continue;
    } while (next !== undefined);
    return items;
  }

  async function listKinds(opts: CallOptions = {}): Promise<Kind<KubeObject>[]> {
    const roots = ["/api", "/apis"].map(async (path) => {
      const response = await transport.request({
        method: "GET",
        path,
        accept: ACCEPT_DISCOVERY,
        ...callOptions(opts),
      });
      if (response.status >= 300) throw toKubeError(response, `GET ${path}`);
      try {
        return readListableKinds(response.body);
      } catch (cause) {
        const kubeMessage = messageOf(cause);
        throw new KubeError({
          status: 0,
          reason: "InvalidResponse",
          kubeMessage,
          request: `GET ${path}`,
          cause,
        });
      }
    });
    return (await Promise.all(roots)).flat();
  }

  function patch<T>(
    kind: Kind<T>,
    target: { namespace: string | undefined; name: string; contentType: string; body: unknown },
    opts: ApplyOptions,
  ): Promise<T> {
    return call(kind, {
      method: "PATCH",
      path: objectPath(kind, target.namespace, target.name, opts.subresource),
      query: { ...writeQuery(opts), force: opts.force },
      body: target.body,
      contentType: target.contentType,
      ...callOptions(opts),
    });
  }

  return {
    async get(kind, namespace, name, opts = {}) {
      try {
        const path = objectPath(kind, namespace, name);
        const accept = acceptOf(kind, "object");
        return readAs(kind, await call(kind, { method: "GET", path, accept, ...callOptions(opts) }));
      } catch (error) {
        if (error instanceof KubeError && error.isMissingObject) return undefined;
        throw error;
      }
    },
    list,
    listAll,
    listKinds,
    create: (kind, object, opts) =>
      call(kind, {
        method: "POST",
        path: collectionPath(kind, metadataOf(object).namespace, true),
        query: writeQuery(opts),
        body: { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object },
        ...callOptions(opts),
      }),
    apply: (kind, object, opts) => {
      const { namespace, name } = metadataOf(object);
      const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object };
      return patch(kind, { namespace, name, contentType: APPLY_PATCH, body }, opts);
    },
    mergePatch: (kind, namespace, name, body, opts) =>
      patch(kind, { namespace, name, contentType: "application/merge-patch+json", body }, opts),
    jsonPatch: (kind, namespace, name, body, opts) =>
      patch(kind, { namespace, name, contentType: "application/json-patch+json", body }, opts),
    async delete(kind, namespace, name, opts = {}) {
      try {
        await call(kind, deleteRequest(objectPath(kind, namespace, name), opts));
      } catch (error) {
        if (!(error instanceof KubeError && error.isMissingObject)) throw error;
      }
    },
    watch: (kind, opts) => watchEvents(transport, kind, opts),
  };
}

interface ListBody<T> {
  metadata: { resourceVersion?: string; continue?: string };
  items: T[] | null;
}

/**
 * All options but the timeout go into the body: with a body the API server reads none in the query, and a dry run would delete
 * the object.
 */
function deleteRequest(path: string, opts: DeleteOptions): TransportRequest {
  const conditional = opts.uid !== undefined || opts.resourceVersion !== undefined;
  return {
    method: "DELETE",
    path,
    query: timeoutQuery(opts),
    body: {
      apiVersion: "v1",
      kind: "DeleteOptions",
      ...(opts.dryRun && { dryRun: ["All"] }),
      ...(opts.propagationPolicy && { propagationPolicy: opts.propagationPolicy }),
      ...(conditional && { preconditions: { uid: opts.uid, resourceVersion: opts.resourceVersion } }),
    },
    ...callOptions(opts),
  };
}

function callOptions(opts: CallOptions): CallOptions {
  return { timeoutMs: opts.timeoutMs, signal: opts.signal, tenant: opts.tenant };
}

function selectors(opts: ListAllOptions) {
  return { labelSelector: opts.labelSelector, fieldSelector: opts.fieldSelector };
}

/**
 * What is written is made by these programs, whose types are those of the schemas: a warning of an unknown field would
 * have no reader, and the search for one costs the API server a tenth of a status write.
 */
function writeQuery(opts: WriteOptions) {
  const dryRun = opts.dryRun ? "All" : undefined;
  return { fieldManager: opts.fieldManager, fieldValidation: "Ignore", dryRun, ...timeoutQuery(opts) };
}

function timeoutQuery({ serverTimeoutMs }: Pick<WriteOptions, "serverTimeoutMs">) {
  return { timeout: serverTimeoutMs === undefined ? undefined : `${serverTimeoutMs}ms` };
}
