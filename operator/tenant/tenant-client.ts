import { z } from "zod";
import { MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { KubeError, toKubeError } from "../../shared/kube/errors.ts";
import { apiVersionOf, type Kind } from "../../shared/kube/kind.ts";
import { collectionPath, metadataOf, objectPath } from "../../shared/kube/object.ts";
import type { Transport, TransportRequest } from "../../shared/kube/transport.ts";

/** A kind in tenant clusters, with the schema that what is read of its objects must have. */
export interface TenantKind<T> {
  kind: Kind<T>;
  schema: z.ZodType<T>;
}

/**
 * Calls to the API server of a tenant, whose responses are not trusted: they are checked by a schema, and a list by its
 * number of pages. Every method rejects with a KubeError only.
 */
export interface TenantClient {
  /** Undefined when there is no such object. */
  get<T>(kind: TenantKind<T>, name: string): Promise<T | undefined>;
  /** All objects with these labels; the server may return others as well. */
  list<T>(kind: TenantKind<T>, labelSelector: string): Promise<T[]>;
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
  /** A request whose answer counts, as a subresource or a review: POST creates one, PATCH merges. */
  send<T>(method: "POST" | "PATCH", path: string, body: object, schema: z.ZodType<T>): Promise<T>;
}

export interface TenantClientOptions {
  /** Ends all calls. */
  signal: AbortSignal;
  /** Checked right before every attempt of a write. */
  mayWrite: () => boolean;
}

/** A page of bindings, each of about 1 KiB, is well within the largest response. */
const PAGE_SIZE = 250;
/** More pages are an error: 5000 objects of ours in one cluster are more than any user can create. */
export const MAX_PAGES = 20;
/** Longer texts of a tenant are cut: they end up in a status and in the log. */
const MAX_MESSAGE_LENGTH = 300;

const MERGE_PATCH = "application/merge-patch+json";

const listSchema = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  items: z.array(z.unknown()).nullish(),
});

export function createTenantClient(transport: Transport, options: TenantClientOptions): TenantClient {
  const { signal, mayWrite } = options;

  async function call<T>(request: TransportRequest, schema: z.ZodType<T>): Promise<T> {
    const mayStillSend = request.method === "GET" ? undefined : mayWrite;
    const description = `${request.method} ${request.path}`;
    try {
      const response = await transport.request({ ...request, signal, mayStillSend });
      if (response.status >= 300) throw toKubeError(response, description);
      return parse(schema, response.body, description);
    } catch (error) {
      throw limitMessage(error, description);
    }
  }

  async function listPage<T>({ kind, schema }: TenantKind<T>, labelSelector: string, next?: string) {
    const path = collectionPath(kind, undefined);
    const query = { labelSelector, limit: PAGE_SIZE, continue: next };
    const { metadata, items } = await call({ method: "GET", path, query }, listSchema);
    const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
    const complete = (items ?? []).map((item) => (isRecord(item) ? { ...type, ...item } : item));
    return { items: parse(z.array(schema), complete, `GET ${path}`), next: metadata.continue };
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
    async list(kind, labelSelector) {
      const found = [];
      let next: string | undefined;
      for (let page = 0; page < MAX_PAGES; page++) {
        const received = await listPage(kind, labelSelector, next);
        found.push(...received.items);
        if (!received.next) return found;
        next = received.next;
      }
      const kubeMessage = `the list of ${kind.kind.plural} has more than ${MAX_PAGES} pages`;
      throw new KubeError({ status: 0, reason: "InvalidResponse", kubeMessage });
    },
    async create({ kind }, object, fieldManager) {
      const path = collectionPath(kind, metadataOf(object).namespace, true);
      await call({ method: "POST", path, query: { fieldManager }, body: object }, z.unknown());
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

function parse<T>(schema: z.ZodType<T>, body: unknown, request: string): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const kubeMessage = `the response is not what Kubernetes specifies: ${parsed.error.issues[0]?.message}`;
  throw new KubeError({ status: 0, reason: "InvalidResponse", kubeMessage, request });
}

function limitMessage(error: unknown, request: string): KubeError {
  const fields =
    error instanceof KubeError
      ? { status: error.status, reason: error.reason, kubeMessage: error.kubeMessage }
      : { status: 0, reason: "InvalidResponse", kubeMessage: String(error) };
  return new KubeError({
    status: fields.status,
    reason: fields.reason.slice(0, MAX_MESSAGE_LENGTH),
    kubeMessage: fields.kubeMessage.slice(0, MAX_MESSAGE_LENGTH),
    request,
    cause: error,
  });
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
