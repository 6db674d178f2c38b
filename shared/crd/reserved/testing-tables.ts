import { type RawRequest, WRITERS, type Writer } from "./testing.ts";
import {
  type Attempt,
  apply,
  create,
  jsonPatch,
  merge,
  type Request,
  replace,
  update,
  type World,
} from "./testing-attempts.ts";

type Part = Record<string, unknown>;
export interface Fields {
  metadata?: Record<string, Part>;
  spec?: Part;
}

export const label = (name: string, value: string): Fields => ({ metadata: { labels: { [name]: value } } });
export const annotation = (name: string, value = "true"): Fields => ({
  metadata: { annotations: { [name]: value } },
});

/** A JSON patch adds the maps of metadata whole, for the objects have none of them. */
function toOperations({ metadata = {}, spec = {} }: Fields): object[] {
  const parts = { metadata, spec };
  return Object.entries(parts).flatMap(([part, fields]) =>
    Object.entries(fields).map(([field, value]) => ({ op: "add", path: `/${part}/${field}`, value })),
  );
}

type Way = keyof typeof WAYS;

/** Every way to write a field. */
const WAYS = {
  "a create": (resource, { metadata, spec }) => create(resource, metadata, spec),
  "an apply of a new object": (resource, { metadata, spec }) => apply(`${resource}/new`, metadata, spec),
  "an apply": (resource, { metadata, spec }) => apply(`${resource}/bare`, metadata, spec),
  "a merge patch": (resource, fields) => merge(`${resource}/bare`, { ...fields }),
  "a JSON patch": (resource, fields) => jsonPatch(`${resource}/bare`, ...toOperations(fields)),
  "a replace": (resource, { metadata, spec }) => replace(`${resource}/bare`, metadata, spec),
  "an update without a named manager": (resource, fields) => update(`${resource}/bare`, fields),
} satisfies Record<string, (resource: string, fields: Fields) => Request>;
const OF_NEW = ["a create", "an apply of a new object"];

/** What is reserved of a kind, and the answer; the second one to a create, where it differs. `ways`: all but where they are named. */
export type ReservedField = [
  resource: string,
  what: string,
  fields: Fields,
  refused: string,
  ofNew?: string,
  ways?: readonly Way[] | undefined,
];

/** The attempts to write a reserved field of the object `bare`, and of a new one, in each of its ways. */
export function writesOf(
  who: Writer,
  [resource, what, fields, refused, ofNew = refused, ways]: ReservedField,
) {
  return Object.entries(WAYS)
    .filter(([way]) => ways === undefined || ways.includes(way as Way))
    .map(
      ([way, request]): Attempt => [
        who,
        `sets ${what} of ${resource} by ${way}`,
        request(resource, fields),
        OF_NEW.includes(way) ? ofNew : refused,
      ],
    );
}

/** A request, whatever its body, by the path that it has in the Namespace of the attempts. */
export type Reach = [method: RawRequest["method"], path: (namespace: string) => string];

export const CORE = "/api/v1";
export const apis = (group: string) => `/apis/${group}/v1`;
export const CAPI = "/apis/cluster.x-k8s.io/v1beta2";
export const RBAC = apis("rbac.authorization.k8s.io");
export const POLICIES = `${apis("admissionregistration.k8s.io")}/validatingadmissionpolicies`;

export const fixed = (path: string) => () => path;
export const inNamespace =
  (base: string, rest: string) =>
  (namespace: string): string =>
    `${base}/namespaces/${namespace}/${rest}`;

/** An attempt that the roles of its sender do not allow. */
export function requestOf(who: Writer, [method, path]: Reach): Attempt {
  const request = ({ namespace }: World): RawRequest => ({
    method,
    path: path(namespace),
    query: { dryRun: "All" },
    ...(method === "PATCH" ? { contentType: "application/merge-patch+json" } : {}),
    ...(method === "GET" ? {} : { body: {} }),
  });
  return [who, `asks for ${method} ${path("NAMESPACE")}`, request, WRITERS[who].user];
}
