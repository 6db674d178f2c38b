import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { beforeAll, expect, test } from "vitest";
import { readStack, waitFor } from "../platform/stack/testing.ts";
import { findBrowser, startBrowser } from "../testing/browser.ts";
import { createTenant, type Tenant } from "../testing/tenant.ts";

const { apiUrl, tokens } = readStack();
const browser = findBrowser();
let alice: Tenant;
let path: string;

beforeAll(async () => {
  alice = createTenant(apiUrl, tokens.alice);
  const { body: organization } = await alice.request("POST", "/organizations", { name: "feed clients" });
  const clusters = `/organizations/${organization.id}/clusters`;
  const cluster = { name: "feed", k8s_version: "1.34", plan: "scale" };
  const { body } = await alice.request("POST", clusters, cluster);
  path = `${clusters}/${body.id}/system-events`;
});

test("npm eventsource: the present state, replay by last_event_id, ids, parsed data", async () => {
  const feed = alice.follow(`${path}?last_event_id=0`);
  const first = await waitFor("the first status", () => feed.events.find(({ event }) => event === "status"));
  feed.close();
  expect(feed.states).toMatchObject([{ data: { node_pool_id: null, previous_status: null } }]);
  expect(first.data).toMatchObject({ id: Number(first.id), status: "provisioning", previous_status: null });
});

test("curl -N: lines as they arrive, retry first", async () => {
  const url = `${apiUrl}/api/v1${path}`;
  const headers = [`Authorization: Bearer ${tokens.alice}`, "Last-Event-ID: 0"];
  const child = spawn("curl", ["-sN", ...headers.flatMap((header) => ["-H", header]), url], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (line.startsWith("data: ") && lines.at(-2)?.startsWith("id: ")) break;
    }
  } finally {
    child.kill("SIGKILL");
  }
  expect(lines[0]).toBe("retry: 3000");
  const state = ["event: status", expect.stringMatching(/^data: \{.*\}$/), ""];
  expect(lines.slice(2, 5)).toEqual(state);
  expect(lines.slice(-3, -1)).toEqual([
    expect.stringMatching(/^event: (status|system-event)$/),
    expect.stringMatching(/^id: \d+$/),
  ]);
});

test.skipIf(browser === undefined)(
  "a browser: its EventSource, with a ticket that is valid once",
  async () => {
    const chromium = await startBrowser(browser ?? "");
    try {
      const page = await chromium.newPage();
      // A page of the same origin, like a portal behind the same address.
      await page.goto(`${apiUrl}/openapi.json`, { timeout: 200_000 });
      // A ticket is short-lived: the browser is ready when it is issued.
      const { body, status } = await alice.request("POST", `${path}/ticket`);
      expect(status).toBe(201);
      const url = `/api/v1${path}?last_event_id=0&ticket=${body.ticket}`;
      const seen = await page.evaluate(listenOnce(url));
      expect(seen).toEqual({ id: expect.stringMatching(/^\d+$/), status: "provisioning" });
      expect(await page.evaluate(listenOnce(url))).toBe("closed");
    } finally {
      await chromium.close();
    }
  },
);

/** Runs in the page: the first status with an id, or "closed" when the browser stops retrying. */
function listenOnce(url: string): string {
  return `new Promise((resolve) => {
    const source = new EventSource(${JSON.stringify(url)});
    source.addEventListener("status", ({ lastEventId, data }) => {
      if (lastEventId === "") return;
      source.close();
      resolve({ id: lastEventId, status: JSON.parse(data).status });
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) resolve("closed");
    });
  })`;
}
