import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { places } from "../contract/openapi/document.ts";
import { readStack } from "../platform/stack/testing.ts";
import { findBrowser, startBrowser } from "../testing/browser.ts";

const executablePath = findBrowser();
const OWN_PATHS = ["/", "/docs", "/favicon.ico"];
const run = promisify(execFile);

let browser: Browser | undefined;
let page: Page;
/** Requests of the page, and errors of the browser. */
const requests: string[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  if (executablePath === undefined) return;
  browser = await startBrowser(executablePath);
  page = await browser.newPage();
  // Of what hangs, not of a slow machine.
  page.setDefaultTimeout(200_000);
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(readStack().apiUrl);
});
afterAll(() => browser?.close());

describe.skipIf(executablePath === undefined)("the reference page", () => {
  test("shows every operation, and opens it on a click", async () => {
    expect(await page.title()).toBe("Marina API");
    for (const { method, path, operation } of places) {
      const entry = page.locator(`details[id="${operation.operationId}"]`);
      const summary = entry.locator("> summary");
      expect(await summary.isVisible()).toBe(true);
      expect((await summary.textContent())?.split(/\s+/)).toEqual(expect.arrayContaining([method, path]));
      const statuses = entry.locator("> table").last();
      expect(await statuses.isVisible()).toBe(false);
      await summary.click();
      expect(await statuses.isVisible()).toBe(true);
      const rows = await statuses.locator("> tbody > tr > th").allInnerTexts();
      expect(rows).toEqual(Object.keys(operation.responses));
      // Closed again, for every step lays out the whole page.
      await entry.evaluate("(details) => details.removeAttribute('open')");
    }
  });

  test("has links that lead to each schema", async () => {
    await page.locator('a[href="/docs#schema-Cluster"]').first().click();
    await page.waitForURL(({ hash }) => hash === "#schema-Cluster");
    const schema = page.locator("#schema-Cluster");
    await schema.waitFor({ state: "visible" });
    await schema.locator("> summary").click();
    expect(await schema.textContent()).toContain("apiserver_url");
  });

  test("finds an operation by words, and its example works in a shell", async () => {
    await page.getByRole("searchbox", { name: "Search" }).fill("List ORGANIZATIONS caller");
    await page.getByRole("button", { name: "Search" }).click();
    const entry = page.locator('details[id="listOrganizations"]');
    await entry.locator("> summary").click();
    const command = await entry.locator("> pre").textContent();
    const env = { ...process.env, TOKEN: readStack().tokens.alice };
    const { stdout } = await run("/bin/sh", ["-c", command ?? ""], { env });
    expect(JSON.parse(stdout)).toMatchObject({ items: expect.any(Array) });
    await page.getByRole("link", { name: "Show everything" }).click();
    await page.locator('details[id="schema-Cluster"]').waitFor();
  });

  test("fits a phone screen, sends no third-party request, and causes no browser error", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    expect(await page.evaluate(overflow)).toBeLessThanOrEqual(0);
    const { apiUrl } = readStack();
    expect(
      requests.filter((url) => !OWN_PATHS.some((path) => url.split("?")[0] === `${apiUrl}${path}`)),
    ).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
