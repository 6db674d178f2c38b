import { html } from "hono/html";
import { DETAIL_CODES, ERROR_CODES, statusOf } from "../errors.ts";
import { DETAIL_MEANINGS, MESSAGES, REMEDIES } from "./components.ts";
import { type Html, renderExample, renderText } from "./docs-operation.ts";

/** A short text that holds for all operations. */
export interface Topic {
  id: string;
  title: string;
  /** What a search finds it by, beside its title. */
  keywords: string;
  body: Html;
}

/** One code of an error or of a field, as a row of its table and as what a search finds. */
export interface CodeEntry {
  id: string;
  code: string;
  /** undefined for the code of a field. */
  status: number | undefined;
  meaning: string;
  remedy: string;
}

/** Every code, those of errors first. */
export const CODE_ENTRIES: readonly CodeEntry[] = [
  ...ERROR_CODES.map((code) => ({
    id: `error-${code}`,
    code,
    status: statusOf(code),
    meaning: MESSAGES[code],
    remedy: REMEDIES[code],
  })),
  ...DETAIL_CODES.map((code) => ({
    id: `field-${code}`,
    code,
    status: undefined,
    meaning: DETAIL_MEANINGS[code],
    remedy: "Correct the field that `field` names.",
  })),
];

const ERROR_EXAMPLE = {
  error: {
    code: "validation_failed",
    message: "node_pools[0].vcpus/out_of_range: must be at least 1",
    details: [{ field: "node_pools[0].vcpus", code: "out_of_range", message: "must be at least 1" }],
    request_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  },
};

/** The texts before the operations, in their order. `apiUrl` has no slash at its end. */
export function writeTopics(apiUrl: string): Topic[] {
  return [
    {
      id: "authentication",
      title: "Authentication",
      keywords: "token bearer authorization header sign in log permission scope role 401 403 api key",
      body: html`<p>Every request has the header <code>Authorization: Bearer &lt;token&gt;</code>. People use an access token of the
platform's identity provider; programs use an API token, which begins with <code>mar_</code>: an owner, admin or member creates it with
<a href="/docs#createApiToken">createApiToken</a>.</p>
<p>A person needs the <strong>permission</strong> that stands at the operation, which the role in the organization gives. An API token needs
the <strong>scope</strong> that stands beside it, and does no more than its role and its creator's role allow.
<a href="/docs#getMe">getMe</a> shows who you are, and all you may do.</p>
${renderExample("Who am I?", `curl '${apiUrl}/api/v1/me' \\\n  -H "Authorization: Bearer $TOKEN"`)}`,
    },
    {
      id: "errors",
      title: "Errors",
      keywords: "error code status message details request_id",
      body: html`<p>Every error has the same form. Programs read the <code>code</code>, which belongs to one status and never changes its
meaning; the <code>message</code> is for people. Quote the <code>request_id</code> to support.</p>
${renderExample("Error", ERROR_EXAMPLE)}
${renderCodeTable("Codes of errors", "What to do", CODE_ENTRIES, ({ status }) => status !== undefined)}
${renderCodeTable("Codes of fields, in details", undefined, CODE_ENTRIES, ({ status }) => status === undefined)}`,
    },
    {
      id: "pagination",
      title: "Pagination",
      keywords: "page cursor next_cursor limit list items",
      body: html`<p>A list has <code>items</code>, in the order that its operation says, and <code>next_cursor</code>. Send that as
<code>cursor</code> for the next page, until it is <code>null</code>; <code>limit</code> bounds a page.</p>`,
    },
    {
      id: "idempotency",
      title: "Idempotency and retries",
      keywords: "idempotency-key repeat retry retry-after safely network timeout",
      body: html`<p>GET, PUT and DELETE can be repeated as they are. A POST with an <code>Idempotency-Key</code> of your choice is carried out
once: for 24 hours a repeated one gets the first response, with <code>Idempotency-Replayed: true</code>. Another body with the same key is
<a href="/docs#error-idempotency_key_reused">idempotency_key_reused</a>, unless the first one was refused as
<a href="/docs#error-validation_failed">validation_failed</a>: its key is free for the corrected body.</p>
<p>Repeat after a 5xx, after no response, and after any response with <code>Retry-After</code>, when those seconds are over. Any other 4xx
would be refused again.</p>`,
    },
    {
      id: "versions",
      title: "Concurrent changes",
      keywords: "etag if-match if-none-match version lost update conflict 412 304",
      body: html`<p>A record has an <code>ETag</code>. A change with <code>If-Match</code> is made to that version alone, and is
<a href="/docs#error-precondition_failed">precondition_failed</a> when another change came first. A GET with <code>If-None-Match</code> is 304,
without a body, while nothing has changed.</p>`,
    },
    {
      id: "dry-run",
      title: "Dry runs",
      keywords: "dry_run preview effects cost plan check without changing",
      body: html`<p><code>?dry_run=true</code> makes every check of a change to a cluster or a node pool, and changes nothing. The response is 200
with the record as it would be and its <code>effects</code>: quotas, nodes added and removed, the cost of a full month, and warnings.</p>`,
    },
    {
      id: "rate-limits",
      title: "Limits of requests",
      keywords: "rate limit 429 too many ratelimit quota throttle",
      body: html`<p>The headers <code>RateLimit</code> and <code>RateLimit-Policy</code> tell how many requests are left. One too many is
<a href="/docs#error-rate_limited">rate_limited</a>, with <code>Retry-After</code>. What an organization may have is in
<a href="/docs#getQuotas">getQuotas</a>.</p>`,
    },
    {
      id: "compatibility",
      title: "What may be added",
      keywords: "unknown fields enum values compatible versioning clients generate sdk openapi",
      body: html`<p>Fields, values and types of events may be added at any time: ignore those that you do not know. Clients can be made from <a href="/openapi.json">/openapi.json</a>. A request with a field that the API does not know is
<a href="/docs#error-validation_failed">validation_failed</a>.</p>`,
    },
  ];
}

function renderCodeTable(
  caption: string,
  remedyHeading: string | undefined,
  entries: readonly CodeEntry[],
  isShown: (entry: CodeEntry) => boolean,
): Html {
  return html`<details class="more"><summary>${caption}</summary><div class="codes-of-errors">${entries
    .filter(isShown)
    .map(
      (entry) =>
        html`<div class="code" id="${entry.id}"><p><code class="name">${entry.code}</code> <span class="type">${
          entry.status ?? ""
        }</span></p><p>${renderText(entry.meaning)}</p>${
          remedyHeading === undefined
            ? ""
            : html`<p><span class="what">${remedyHeading}:</span> ${renderText(entry.remedy)}</p>`
        }</div>`,
    )}</div></details>`;
}
