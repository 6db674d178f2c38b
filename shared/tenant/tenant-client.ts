import type { X509Certificate } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { MANAGER_OPERATOR } from "../crd/names.ts";
import { KubeError, toKubeError, truncateError } from "../kube/errors.ts";
import { apiVersionOf, defineKind, type Kind, type KubeObject } from "../kube/kind.ts";
import { collectionPath, metadataOf, objectPath } from "../kube/object.ts";
import type { Transport, TransportRequest } from "../kube/transport.ts";

/** A kind in tenant clusters, with the schema that what is read of its objects must have. */
export interface TenantKind<T> {
  kind: Kind<T>;
  schema: z.ZodType<T>;
  /** A list has of each object `metadata` and in `columns` what kubectl prints of it: the rest may be much larger. */
  asTable?: boolean;
  /** Which objects are listed, in the notation of a query. */
  fieldSelector?: string;
  /** How many objects the first page has, for a list that may end with it; default 250. */
  firstPage?: number;
}

/** A kind in tenant clusters, whose objects are what the schema takes of them. */
export function defineTenantKind<T>(
  kind: Omit<Kind<unknown>, "_type">,
  schema: z.ZodType<T>,
  listing: Omit<TenantKind<T>, "kind" | "schema"> = {},
): TenantKind<T> {
  return { kind: defineKind<KubeObject & T>(kind), schema, ...listing };
}

/**
 * Calls to the API server of a tenant, whose responses are not trusted: they are checked by a schema. Every method
 * rejects with a KubeError only.
 */
export interface TenantClient {
  /** Undefined when there is no such object. */
  get<T>(kind: TenantKind<T>, name: string): Promise<T | undefined>;
  /**
   * A page of the objects with these labels, from `next` on, of all namespaces or of one; the server may return others
   * as well.
   */
  listPage<T>(
    kind: TenantKind<T>,
    labelSelector: string,
    next?: string,
    namespace?: string,
  ): Promise<TenantPage<T>>;
  create<T>(kind: TenantKind<T>, object: NoInfer<T>, fieldManager: string): Promise<void>;
  /**
   * Also resolves when the object does not exist. With a version it is a conflict when the object has another.
   */
  delete(
    kind: Pick<TenantKind<unknown>, "kind">,
    name: string,
    namespace?: string,
    resourceVersion?: string,
  ): Promise<void>;
  /**
   * The lines of the text at a path that is of no object, of at most 16 384 characters each and at most 250 000 of them,
   * while they arrive. One attempt, which ends with all calls.
   */
  readLines(path: string): AsyncIterable<string>;
  /** After a response of the server. */
  readCertificates(): Promise<TenantCertificates>;
  /** A request whose answer counts, as a subresource or a review: POST creates one, PATCH merges. */
  send<T>(method: "POST" | "PATCH", path: string, body: object, schema: z.ZodType<T>): Promise<T>;
}

export interface TenantCertificates {
  /** Those that the server is verified by. */
  authorities: X509Certificate[];
  /** The server's in the latest TLS handshake. */
  server: X509Certificate | undefined;
}

export interface TenantPage<T> {
  items: T[];
  /** Undefined for the last page. */
  next: string | undefined;
}

export interface TenantClientOptions {
  /** Ends all calls. */
  signal: AbortSignal;
  /** Checked right before every attempt of a write. */
  mayWrite: () => boolean;
  certificates: () => TenantCertificates;
}

/**
 * A page of bindings, each of about 1 KiB, is well within the largest response. A tenant may make them as large as etcd
 * takes them: a page that is too large is read in smaller ones, and no later one is tried with its size again.
 */
const PAGE_SIZES = [250, 50, 10];
const SMALLEST_PAGE = 1;
/** A sample of a metric is some hundred characters long, and an API server has some ten thousand; each line is passed on by itself. */
const LINE_LIMITS = { maxLineLength: 16_384, maxLines: 250_000 };
/** What is kept between two pages: Kubernetes puts the name of the last object into it, whose length it does not limit. */
const MAX_CONTINUE_LENGTH = 65_536;

const MERGE_PATCH = "application/merge-patch+json";

const listMetadata = z.object({
  continue: z
    .string()
    .max(MAX_CONTINUE_LENGTH, "a list does not go on after an object with so long a name; delete it")
    .optional(),
});

const listSchema = z.object({
  metadata: listMetadata,
  // Each is checked by itself, after their number.
  items: z.custom<unknown[]>(Array.isArray, "items is no list").nullish(),
});

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
/** Kinds have some ten. */
const MAX_COLUMNS = 64;

const tableSchema = z.object({
  metadata: listMetadata,
  columnDefinitions: z
    .custom<unknown[]>((value) => Array.isArray(value) && value.length <= MAX_COLUMNS, "it has no columns")
    .pipe(tenantList(z.object({ name: z.string() }))),
  rows: listSchema.shape.items,
});

const rowSchema = z.object({
  cells: z.custom<unknown[]>(Array.isArray, "cells is no list"),
  object: z.object({ metadata: z.unknown() }),
});

/** More pages than this are read for no answer that a caller waits for. */
const MAX_PAGES = 400;

/** All objects of a kind; rejects with a KubeError, reason "TooLarge", when the list does not end. */
export async function listAllPages<T>(
  client: Pick<TenantClient, "listPage">,
  kind: TenantKind<T>,
  labelSelector = "",
  namespace?: string,
): Promise<T[]> {
  const items: T[] = [];
  let next: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const read = await client.listPage(kind, labelSelector, next, namespace);
    for (const item of read.items) items.push(item);
    if (read.next === undefined) return items;
    next = read.next;
  }
  const kubeMessage = `the list of ${kind.kind.plural} has more than ${MAX_PAGES} pages`;
  throw new KubeError({ status: 0, reason: "TooLarge", kubeMessage });
}

export function createTenantClient(transport: Transport, options: TenantClientOptions): TenantClient {
  const { signal, mayWrite, certificates } = options;
  let sizes = PAGE_SIZES;

  async function call<T>(request: TransportRequest, schema: z.ZodType<T>): Promise<T> {
    const mayStillSend = request.method === "GET" ? undefined : mayWrite;
    const description = `${request.method} ${request.path}`;
    try {
      const response = await transport.request({ ...request, signal, mayStillSend });
      // Until the next turn its connection is taken for busy, and a call that follows at once would open another one.
      await setImmediate();
      if (response.status >= 300) throw toKubeError(response, description);
      return parse(schema, response.body, description);
    } catch (error) {
      throw truncateError(error, description);
    }
  }

  async function listOnce<T>(
    of: TenantKind<T>,
    namespace: string | undefined,
    query: Record<string, string>,
    limit: number,
  ) {
    const path = collectionPath(of.kind, namespace);
    const selection = { ...query, fieldSelector: of.fieldSelector, limit };
    const request = { method: "GET", path, query: selection } as const;
    const { metadata, items } = await (of.asTable ? readRows(request) : readObjects(of.kind, request));
    return {
      items: parse(tenantList(of.schema), items, `GET ${path}`),
      next: metadata.continue || undefined,
    };
  }

  async function readObjects(kind: Kind<unknown>, request: ListRequest) {
    const { metadata, items } = await call(request, listSchema);
    const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
    const complete = (item: unknown) => (item && typeof item === "object" ? { ...type, ...item } : item);
    return { metadata, items: requireLimit(items, request).map(complete) };
  }

  async function readRows(request: ListRequest) {
    const { metadata, columnDefinitions, rows } = await call({ ...request, accept: TABLE }, tableSchema);
    const checked = parse(tenantList(rowSchema), requireLimit(rows, request), `GET ${request.path}`);
    const items = checked.map(({ cells, object }) => ({
      ...object,
      columns: Object.fromEntries(columnDefinitions.map(({ name }, index) => [name, cells[index]])),
    }));
    return { metadata, items };
  }

  return {
    async get({ kind, schema }, name) {
      try {
        return await call({ method: "GET", path: objectPath(kind, undefined, name) }, schema);
      } catch (error) {
        if (error instanceof KubeError && error.isNotFound) return undefined;
        throw error;
      }
    },
    async listPage(kind, labelSelector, next, namespace) {
      const query = { labelSelector, ...(next !== undefined && { continue: next }) };
      const most = (next === undefined && kind.firstPage) || Number.POSITIVE_INFINITY;
      for (;;) {
        const limit = Math.min(most, sizes[0] ?? SMALLEST_PAGE);
        try {
          return await listOnce(kind, namespace, query, limit);
        } catch (error) {
          if (!(error instanceof KubeError && error.isTooLarge) || limit === SMALLEST_PAGE) throw error;
          sizes = sizes.filter((size) => size < limit);
        }
      }
    },
    async create({ kind }, object, fieldManager) {
      const path = collectionPath(kind, metadataOf(object).namespace, true);
      await call({ method: "POST", path, query: { fieldManager }, body: object }, z.unknown());
    },
    async *readLines(path) {
      try {
        const request = { path, accept: "text/plain", ...LINE_LIMITS };
        yield* await transport.openStream({ ...request, signal });
      } catch (error) {
        throw truncateError(error, `GET ${path}`);
      }
    },
    async readCertificates() {
      await call({ method: "GET", path: "/version" }, z.object({ gitVersion: z.string() }));
      return certificates();
    },
    send(method, path, body, schema) {
      const contentType = method === "PATCH" ? MERGE_PATCH : undefined;
      const query = { fieldManager: MANAGER_OPERATOR };
      return call({ method, path, query, body, contentType }, schema);
    },
    async delete({ kind }, name, namespace, resourceVersion) {
      const body = resourceVersion === undefined ? {} : { body: { preconditions: { resourceVersion } } };
      try {
        await call({ method: "DELETE", path: objectPath(kind, namespace, name), ...body }, z.unknown());
      } catch (error) {
        if (!(error instanceof KubeError && error.isNotFound)) throw error;
      }
    },
  };
}

type ListRequest = TransportRequest & { query: { limit: number } };

function requireLimit(items: unknown[] | null | undefined, { path, query }: ListRequest): unknown[] {
  if (items != null && items.length > query.limit)
    throw invalidResponse("a page has more objects than were asked for", `GET ${path}`);
  return items ?? [];
}

function parse<T>(schema: z.ZodType<T>, body: unknown, request: string): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { message } = parsed.error.issues[0] ?? {};
  throw invalidResponse(`the response is not what Kubernetes specifies: ${message}`, request);
}

function invalidResponse(kubeMessage: string, request: string): KubeError {
  return new KubeError({ status: 0, reason: "InvalidResponse", kubeMessage, request });
}

/** The name of an object, and that of its Namespace, in a response of a tenant's API server. */
export const tenantName = z.string().min(1).max(253);
export const tenantNamespace = z.string().min(1).max(63);

/**
 * A list in a response of a tenant's API server. The first entry that is wrong ends the check: an array of zod makes issues
 * of all, gigabytes for a response of 4 MiB.
 */
export function tenantList<T>(entry: z.ZodType<T>) {
  return z.custom<unknown[]>(Array.isArray, "a list is expected").transform((entries, context): T[] => {
    const checked: T[] = [];
    for (const one of entries) {
      const { data, error } = entry.safeParse(one);
      if (error !== undefined) {
        context.addIssue({ code: "custom", message: error.issues[0]?.message ?? "" });
        return z.NEVER;
      }
      checked.push(data);
    }
    return checked;
  });
}
