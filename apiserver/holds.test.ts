import { expect, test } from "vitest";
import type { Operation } from "./http/contract/operation.ts";
import { MAX_PAGE_BYTES } from "./http/contract/page.ts";
import { DEFAULT_REQUEST_LIMITS } from "./http/limits.ts";
import { declareOperations, declareOtherRoutes } from "./openapi/render.ts";
import { HELD_BY_ROUTES, HELD_RECORDS } from "./testing/holds-rows.ts";

const HEAD = `# What a caller can make a process and its stores hold

One request of each operation, with the default limits; [deployment.md](deployment.md) says how they are set. Made by
\`vitest run --project unit apiserver/holds.test.ts -u\`; an operation or another route without its row fails that test.

Whatever the operations, the bytes of all bodies and unread responses of one user are bounded, and of one organization, address and
process. Besides its records, a change adds a row to the audit log, and a POST with an Idempotency-Key one that is kept for
24 hours. Seconds are those in which a request arrives, is worked on and its response is read.

`;

const OTHER_ROUTES = `
## Routes that are no operations

A request without the credential of its caller is refused before a byte of its body is read. Seconds are those in which a request
arrives and its response is read.

`;

const operations = declareOperations();
const { headersSeconds, maxBodyBytes, requestSeconds, responseSeconds } = DEFAULT_REQUEST_LIMITS;
const WORK_SECONDS = 55;

test("docs/operators/holds.md has every operation, with what one request of it can hold", async () => {
  const header = ["operation", "body bytes", "response bytes", "seconds", "adds", "bound"];
  const rows = operations.map((operation) => [
    `\`${operation.operationId}\``,
    operation.body === undefined ? "0" : maxBodyBytes.toLocaleString("en"),
    describeResponse(operation),
    describeSeconds(operation),
    ...describeRecords(operation),
  ]);
  const text = HEAD + renderTable(header, rows) + OTHER_ROUTES + describeOtherRoutes();
  await expect(text).toMatchFileSnapshot("../docs/operators/holds.md");
});

test("every POST says what it adds and what bounds that, and nothing else does", () => {
  const posts = operations.filter(({ method }) => method === "post").map(({ operationId }) => operationId);
  expect(Object.keys(HELD_RECORDS).toSorted()).toEqual(posts.toSorted());
});

test("every route that is no operation says what a request of it can hold", () => {
  expect(Object.keys(HELD_BY_ROUTES).toSorted()).toEqual(declareOtherRoutes());
});

function describeOtherRoutes(): string {
  const rows = Object.entries(HELD_BY_ROUTES).map(([route, held]) => [
    `\`${route}\``,
    held.caller,
    held.bodyBytes.toLocaleString("en"),
    held.responseBytes,
    `${held.bodyBytes > 0 ? requestSeconds : headersSeconds}, ${responseSeconds}`,
    held.adds,
    held.bound,
  ]);
  const header = ["route", "caller", "body bytes", "response bytes", "seconds", "adds", "bound"];
  return renderTable(header, rows);
}

function describeResponse({ responses, query }: Operation): string {
  const isStream = Object.values(responses).some(({ stream }) => stream !== undefined);
  if (isStream) return `a page of ${MAX_PAGE_BYTES.toLocaleString("en")}; 65,536 of a stream`;
  const isPage = query !== undefined && "shape" in query && "cursor" in (query.shape as object);
  return isPage ? `a page of ${MAX_PAGE_BYTES.toLocaleString("en")}` : "one record";
}

function describeSeconds({ responses, body }: Operation): string {
  const isStream = Object.values(responses).some(({ stream }) => stream !== undefined);
  const arrival = body === undefined ? headersSeconds : requestSeconds;
  return `${arrival}, ${WORK_SECONDS}, ${isStream ? "as long as it is read" : responseSeconds}`;
}

function describeRecords({ method, operationId }: Operation): [adds: string, bound: string] {
  if (method === "get") return ["none", "reads"];
  if (method !== "post") return ["none", method === "put" ? "replaces its record" : "removes its record"];
  const { adds, bound } = HELD_RECORDS[operationId] ?? { adds: "unknown", bound: "unknown" };
  return [adds, bound];
}

/** A table in Markdown whose columns are as wide as their longest cell. */
function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |\n`;
  const rule = widths.map((width) => "-".repeat(width));
  return line(header) + line(rule) + rows.map(line).join("");
}
