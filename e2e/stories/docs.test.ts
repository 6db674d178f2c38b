import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { places } from "../openapi/document.ts";
import { readStack } from "../stack/testing.ts";
import { findBrowser, startBrowser } from "../testing/browser.ts";

const executablePath = findBrowser();

let browser: Browser | undefined;
let page: Page;
/** Requests of the page, and errors of the browser. */
const requests: string[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  if (executablePath === undefined) return;
  browser = await startBrowser(executablePath);
  page = await browser.newPage();
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(`${readStack().apiUrl}/docs`);
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
    }
  });

  test("has links that lead to each schema", async () => {
    await page.locator('a[href="#schema-Cluster"]').first().click();
    const schema = page.locator("#schema-Cluster");
    await schema.waitFor({ state: "visible" });
    expect(new URL(page.url()).hash).toBe("#schema-Cluster");
    await schema.locator("> summary").click();
    expect(await schema.textContent()).toContain("apiserver_url");
  });

  test("fits a phone screen, sends no third-party request, and causes no browser error", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    expect(await page.evaluate(overflow)).toBeLessThanOrEqual(0);
    const { apiUrl } = readStack();
    expect(requests.filter((url) => ![`${apiUrl}/docs`, `${apiUrl}/favicon.ico`].includes(url))).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
