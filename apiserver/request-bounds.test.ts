import { expect, test } from "vitest";
import { renderTable } from "../shared/program/testing-tables.ts";
import { MAX_READ_BYTES } from "./http/contract/byte-budget.ts";
import { JSON_TYPE } from "./http/contract/download.ts";
import type { Operation } from "./http/contract/operation.ts";
import { MAX_PAGE_BYTES } from "./http/contract/page.ts";
import { STREAMED_FILE_BYTES } from "./http/contract/stream-file.ts";
import { DEFAULT_REQUEST_LIMITS } from "./http/limits.ts";
import { rateClassOf } from "./http/rate-limits/rate-limit.ts";
import { declareOperations, declareOtherRoutes, renderOpenApi } from "./openapi/render.ts";
import { STORE_NAMES } from "./quotas/schema.ts";
import { MAX_REPORT_BYTES } from "./registry/report.ts";
import { RECORD_BOUNDS, ROUTE_BOUNDS } from "./testing/request-bounds.ts";
import { findMaxJsonBytes } from "./testing/response-bytes.ts";

const { burst, perMinute } = DEFAULT_REQUEST_LIMITS.rates.change;
const HEAD = `# What a caller can make a process and its stores hold

One request of each operation, with the default limits; [deployment.md](deployment.md) says how they are set. Made by
\`vitest run --project unit apiserver/request-bounds.test.ts -u\`; an operation or another route without its row fails that test.

Whatever the operations, the bytes of all bodies and unread responses of one user are bounded, and of one organization, address,
process and of all callers without a valid credential together. While others use up one of these, each caller still has a
1,024th of it. A change beyond them is refused before its effect; what one has done is answered, for which the oldest unread responses
of its caller are cut off. A body counts until it is its turn; 512 requests of an organization wait for theirs. Besides its records,
each change adds an audit entry, and a POST with an Idempotency-Key a row for 24 hours, with a response of at most 65,536 bytes or with that of the record in Postgres that it made. Seconds are those in which a request arrives, is worked on and its response is read.

The audit entries of a person in an organization are bounded by the person's changes, ${burst.toLocaleString("en")} at once and ${perMinute} a minute
(\`change\` of \`MARINA_RATE_LIMITS\`), and are kept for 400 days (\`MARINA_AUDIT_RETENTION_DAYS\`).

\`GET /api/v1/organizations/{orgID}/quotas\` shows every bound of an organization and what of it is in use.

Bytes of a response are the most that its schema admits; of a page 1,048,576 and what is around its items, or one item that is
larger; of a stream and of a streamed file what waits for its reader. No other response to a GET has more
than 16,777,216, the share of one user in \`MARINA_MAX_UNREAD_BYTES\`: a larger one is refused for good, the usage as a file with 406 and
all others with 400.

`;

const OTHER_ROUTES = `
## Routes that are no operations

A request without the credential of its caller is refused before a byte of its body is read. Seconds are those in which a request
arrives and its response is read.

`;

const operations = declareOperations();
const { headersSeconds, maxBodyBytes, requestSeconds, responseSeconds } = DEFAULT_REQUEST_LIMITS;
const WORK_SECONDS = 55;
/** What of a stream waits for its reader, in system-events/stream. */
const MAX_STREAM_BYTES = 65_536;
/** By operationId, of records that are bounded as a whole: a scan also has a state and a summary. */
const BOUNDS: Readonly<Record<string, number>> = {
  getTagScan: MAX_REPORT_BYTES + 1024,
};

interface JsonSchema {
  $ref?: string;
  maxLength?: number;
  maxItems?: number;
  items?: unknown;
  properties?: Record<string, JsonSchema>;
}

interface DeclaredResponse {
  content?: Record<string, { schema: JsonSchema }>;
}

const document: {
  paths: Record<string, Record<string, { responses: Record<string, DeclaredResponse> }>>;
  components: { schemas: Record<string, JsonSchema> };
} = JSON.parse(renderOpenApi());

test("docs/operators/request-bounds.md has every operation, with what one request of it can hold", async () => {
  const header = ["operation", "body bytes", "response bytes", "seconds", "adds", "bound"];
  const rows = operations.map((operation) => [
    `\`${operation.operationId}\``,
    operation.body === undefined ? "0" : maxBodyBytes.toLocaleString("en"),
    describeResponse(operation),
    describeSeconds(operation),
    ...describeRecords(operation),
  ]);
  const text = HEAD + renderTable(header, rows) + OTHER_ROUTES + describeOtherRoutes();
  await expect(text).toMatchFileSnapshot("../docs/operators/request-bounds.md");
});

test("every operation that writes says what it adds and what bounds that, and nothing else does", () => {
  const writing = operations.filter((one) => one.method !== "get" || rateClassOf(one) !== undefined);
  const names = writing.map(({ operationId }) => operationId);
  expect(Object.keys(RECORD_BOUNDS).toSorted()).toEqual(names.toSorted());
});

test("every bound of an organization is shown in its quotas, and every store of them bounds something", () => {
  const bounds = Object.entries({ ...RECORD_BOUNDS, ...ROUTE_BOUNDS });
  const shown = bounds.map(([name, { ofOrganization = {} }]) => [
    name,
    Object.keys(ofOrganization).length > 0,
  ]);
  expect(shown).toEqual(bounds.map(([name, { bound }]) => [name, bound.includes("of an organization")]));
  const limits = bounds.flatMap(([, { bound, ofOrganization = {} }]) =>
    Object.entries(ofOrganization).map(([name, limit]) => ({ bound, name, limit })),
  );
  for (const { bound, name, limit } of limits)
    expect(bound).toContain(
      name === "attachment_bytes" ? `${limit / 1024 ** 3} GiB` : limit.toLocaleString("en"),
    );
  const names = new Set(limits.map(({ name }) => name));
  expect([...names].toSorted()).toEqual(["clusters", "node_pools", ...STORE_NAMES].toSorted());
});

test("every route that is no operation says what a request of it can hold", () => {
  expect(Object.keys(ROUTE_BOUNDS).toSorted()).toEqual(declareOtherRoutes());
});

function describeOtherRoutes(): string {
  const rows = Object.entries(ROUTE_BOUNDS).map(([route, row]) => [
    `\`${route}\``,
    row.caller,
    row.bodyBytes.toLocaleString("en"),
    row.responseBytes === "none"
      ? "0"
      : `${MAX_READ_BYTES.toLocaleString("en")} at most: ${row.responseBytes}`,
    `${row.bodyBytes > 0 ? requestSeconds : headersSeconds}, ${responseSeconds}`,
    row.adds,
    row.bound,
  ]);
  const header = ["route", "caller", "body bytes", "response bytes", "seconds", "adds", "bound"];
  return renderTable(header, rows);
}

/** The longest of each form that a success has. */
function describeResponse(operation: Operation): string {
  const { method, operationId, path, responses } = operation;
  const longest = new Map<string, number>();
  for (const [status, { content = {} }] of Object.entries(document.paths[path]?.[method]?.responses ?? {}))
    for (const [mediaType, { schema }] of status.startsWith("2") ? Object.entries(content) : []) {
      const isStream = responses[200]?.stream?.mediaType === mediaType;
      const isJson = mediaType === JSON_TYPE;
      const file = responses[200]?.files?.find((one) => one.mediaType === mediaType);
      const isStreamed = isStream || file?.isStreamed === true;
      const form = isStream
        ? " of a stream"
        : isStreamed
          ? " of a streamed file"
          : isJson
            ? ""
            : " of a file";
      const waiting = isStream ? MAX_STREAM_BYTES : STREAMED_FILE_BYTES;
      const whole = schema.maxLength ?? Number.POSITIVE_INFINITY;
      const bytes = isJson ? (BOUNDS[operationId] ?? findMaxBytes(schema)) : isStreamed ? waiting : whole;
      const sent = method === "get" ? Math.min(bytes, MAX_READ_BYTES) : bytes;
      longest.set(form, Math.max(longest.get(form) ?? 0, sent));
    }
  const described = [...longest].map(([form, bytes]) => `${bytes.toLocaleString("en")}${form}`);
  return described.length === 0 ? "0" : described.join("; ");
}

/** A page has as many bytes as its items may have, or one of them, and what is around them. */
function findMaxBytes(schema: JsonSchema): number {
  const { schemas } = document.components;
  const bytesOf = (one: unknown) => findMaxJsonBytes(one, schemas);
  const { properties = {} } = schemas[schema.$ref?.split("/").at(-1) ?? ""] ?? schema;
  const { items, next_cursor: cursor, ...others } = properties;
  if (items === undefined || cursor === undefined) return bytesOf(schema);
  const { maxItems: count = Number.POSITIVE_INFINITY } = items;
  const item = bytesOf(items.items);
  const around = { type: "object", properties: { ...others, next_cursor: cursor, items: { const: [] } } };
  return Math.min(count * item, Math.max(MAX_PAGE_BYTES, item)) + count + bytesOf(around);
}

function describeSeconds({ responses, body }: Operation): string {
  const isStream = Object.values(responses).some(
    ({ stream, files = [] }) => stream !== undefined || files.some(({ isStreamed }) => isStreamed),
  );
  const arrival = body === undefined ? headersSeconds : requestSeconds;
  return `${arrival}, ${WORK_SECONDS}, ${isStream ? "as long as it is read" : responseSeconds}`;
}

/** What the platform's staff asks for is audited. */
function describeRecords({ access, operationId }: Operation): [adds: string, bound: string] {
  const reads = { adds: access === "platform-admin" ? "1 audit entry" : "none", bound: "reads" };
  const { adds, bound } = RECORD_BOUNDS[operationId] ?? reads;
  return [adds, bound];
}
