import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { places } from "../contract/openapi/document.ts";
import { readStack } from "../platform/stack/testing.ts";
import { findBrowser, startBrowser } from "../testing/browser.ts";

const executablePath = findBrowser();
/** Nothing answers there. */
const FOREIGN = "https://elsewhere.invalid/";
const VIEWS = [
  { width: 1280, height: 900 },
  { width: 390, height: 844 },
].flatMap((size) => (["light", "dark"] as const).map((colorScheme) => ({ ...size, colorScheme })));
/** An operation, what a search finds, a code of errors, a schema; `known` is of the first page, and is looked at there alone. */
const OPENED = [
  { path: "/docs#createCluster" },
  { path: "/docs?q=create+cluster" },
  { path: "/docs#error-quota_exceeded", known: "nav, .entry:not([open])" },
  { path: "/docs#schema-Cluster", known: "nav, .entry:not([open])" },
];
const run = promisify(execFile);

let browser: Browser | undefined;
/** Requests of all pages, and errors of the browser. */
const requests: string[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  if (executablePath !== undefined) browser = await startBrowser(executablePath);
});
afterAll(() => browser?.close());

/** A page of the reference in a browser of its own, at `path`. */
async function openPage(path: string, options: { javaScriptEnabled?: boolean } = {}): Promise<Page> {
  const context = await browser?.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  if (context === undefined) throw new Error("no browser was started");
  const page = await context.newPage();
  // For what hangs, not for a slow machine.
  page.setDefaultTimeout(200_000);
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(`${readStack().apiUrl}${path}`);
  return page;
}

/** Whether the element can be seen in the window, below the header. */
function isInWindow(page: Page, id: string): Promise<boolean> {
  return page.evaluate(`(() => {
    const { top, height } = document.getElementById(${JSON.stringify(id)}).getBoundingClientRect();
    const header = document.querySelector("header").getBoundingClientRect();
    return height > 0 && top >= header.bottom && top < innerHeight;
  })()`);
}

describe.skipIf(executablePath === undefined)("the reference page", () => {
  test("shows every operation, and opens it where a link leads to it", async () => {
    const page = await openPage("/");
    expect(await page.title()).toBe("Marina API");
    const shown = await page.evaluate(
      'Object.fromEntries([...document.querySelectorAll("[data-path]")].map((body) => [body.id, [body.dataset.method, body.dataset.path, body.previousElementSibling.checkVisibility(), body.checkVisibility()]]))',
    );
    expect(shown).toEqual(
      Object.fromEntries(
        places.map(({ method, path, operation }) => [operation.operationId, [method, path, true, false]]),
      ),
    );
    for (const id of ["createCluster", "schema-Cluster", "error-quota_exceeded", "field-too_long"]) {
      await page.evaluate(`location.hash = ${JSON.stringify(id)}`);
      await expect.poll(() => isInWindow(page, id)).toBe(true);
    }
    await page.context().close();
  });

  test("works without a script: links open, languages change, a question finds its operation", async () => {
    const page = await openPage("/docs#createCluster", { javaScriptEnabled: false });
    const entry = page.locator("#createCluster");
    await entry.waitFor({ state: "visible" });
    expect(await entry.locator("figure[data-language=Go]").isVisible()).toBe(false);
    await page.getByText("Go", { exact: true }).first().click();
    expect(await entry.locator("figure[data-language=Go]").isVisible()).toBe(true);
    expect(await entry.locator("figure[data-language=curl]").isVisible()).toBe(false);
    await page.getByRole("searchbox", { name: "Search" }).fill("How do I create a cluster?");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText(/^Found: /).waitFor();
    expect(await page.locator(".body").first().getAttribute("id")).toBe("createCluster");
    await page.getByRole("link", { name: "Show everything" }).click();
    await page.locator("#section-clusters").waitFor();
    await page.context().close();
  });

  test.each([
    ["listOrganizations", /items['"]?:/],
    ["createOrganization", /org_namespace|created_at/],
  ])("has examples of %s that work in a shell, in Node.js, in Python and in Go", async (id, answer) => {
    const page = await openPage(`/docs#${id}`);
    const textOf = async (language: string) => {
      const text = await page.locator(`#${id} figure[data-language=${language}] pre`).textContent();
      // No two organizations have one slug.
      return (text ?? "").replaceAll("example-ltd", `example-${createId().slice(-12)}`);
    };
    const folder = await mkdtemp(join(tmpdir(), "marina-examples-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const program = join(folder, "main.go");
    await writeFile(program, await textOf("Go"));
    const env = { ...process.env, TOKEN: readStack().tokens.alice };
    const commands: Record<string, [string, string[]]> = {
      curl: ["/bin/sh", ["-c", await textOf("curl")]],
      TypeScript: [process.execPath, ["--input-type=module", "--eval", await textOf("TypeScript")]],
      Python: ["python3", ["-c", await textOf("Python")]],
      Go: ["go", ["run", program]],
    };
    for (const [language, [command, args]] of Object.entries(commands)) {
      const { stdout } = await run(command, args, { env, cwd: folder });
      expect([language, stdout]).toEqual([language, expect.stringMatching(answer)]);
    }
    await page.context().close();
  });

  test("sends a request with the reader's token to this server by the keyboard alone, and keeps no token", async () => {
    const page = await openPage("/docs");
    await page.keyboard.press("/");
    await page.keyboard.type("list organizations caller");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\?q=/);
    const form = page.getByRole("form", { name: "Try listOrganizations" });
    await form.waitFor();
    const focused = "document.activeElement.id";
    for (let count = 0; (await page.evaluate(focused)) !== "listOrganizations-token"; count += 1) {
      expect(count).toBeLessThan(200);
      await page.keyboard.press("Tab");
    }
    await page.keyboard.type(readStack().tokens.alice);
    await page.keyboard.press("Enter");
    await form.getByText(/^200, \d+ ms, request /).waitFor();
    expect(JSON.parse((await form.locator("pre").textContent()) ?? "")).toMatchObject({
      items: expect.any(Array),
    });
    expect(await page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length")).toBe(
      0,
    );
    await page.context().close();
  });

  test("changes nothing by the form of a new cluster until dry_run is false, and shows errors", async () => {
    const page = await openPage("/docs#createCluster");
    const form = page.getByRole("form", { name: "Try createCluster" });
    await form.getByLabel("orgID").fill("0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11");
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === "POST"),
      form.getByRole("button", { name: "Send POST" }).click(),
    ]);
    expect(new URL(request.url()).searchParams.get("dry_run")).toBe("true");
    expect(request.postDataJSON()).toMatchObject({ name: "production" });
    await form.getByText(/^401, /).waitFor();
    expect(complaints.splice(0).filter((text) => !text.includes("401"))).toEqual([]);
    await page.context().close();
  });

  test("sends a new key with each request that can be repeated, and the same one while there is no answer", async () => {
    const page = await openPage("/docs#createCluster");
    const form = page.getByRole("form", { name: "Try createCluster" });
    await form.getByLabel("orgID").fill("0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11");
    const send = async () => {
      const [request] = await Promise.all([
        page.waitForRequest((sent) => sent.method() === "POST"),
        form.getByRole("button", { name: "Send POST" }).click(),
      ]);
      return request.headers()["idempotency-key"];
    };
    await page.route("**/clusters*", (route) => route.abort());
    const first = await send();
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    await form.getByText("The request may have been carried out").waitFor();
    await page.unroute("**/clusters*");
    expect(await send()).toBe(first);
    await form.getByText(/^401, /).waitFor();
    const second = await send();
    expect(second).toMatch(/^[0-9a-f-]{36}$/);
    expect(second).not.toBe(first);
    expect(complaints.splice(0).filter((text) => !/401|ERR_FAILED/.test(text))).toEqual([]);
    await page.context().close();
  });

  test("says so of what cannot be sent, and can then send something else", async () => {
    const page = await openPage("/docs#getOrganization");
    const form = page.getByRole("form", { name: "Try getOrganization" });
    const button = form.getByRole("button", { name: "Send GET" });
    // Half a character, which no address can hold.
    const input = 'document.getElementById("getOrganization-path-orgID")';
    await page.evaluate(`${input}.value = "\\ud800"; 0`);
    await button.click();
    await form.getByText(/^Not sent: /).waitFor();
    await form.getByLabel("orgID").fill("0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11");
    await button.click();
    await form.getByText(/^401, /).waitFor();
    expect(complaints.splice(0).filter((text) => !text.includes("401"))).toEqual([]);
    await page.context().close();
  });

  test("refuses every request to another server", async () => {
    const page = await openPage("/docs");
    const refused = await page.evaluate(
      `fetch(${JSON.stringify(FOREIGN)}).then(() => "sent", ({ message }) => message)`,
    );
    expect(refused).toBe("Failed to fetch");
    expect(complaints.splice(0).join(" ")).toContain("connect-src 'self'");
    await page.context().close();
  });

  test("copies an example", async () => {
    const page = await openPage("/docs#getMe");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const button = page.locator("#getMe").getByRole("button", { name: "Copy curl" });
    await button.click();
    await expect.poll(() => button.textContent()).toBe("Copied");
    expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(/^curl 'http/);
    await page.context().close();
  });

  test.each(OPENED)(
    "$path is accessible and fits at 1280 and 390 px, in light and in dark",
    async ({ path, known }) => {
      const page = await openPage(path);
      const [, id = ""] = path.split("#");
      const isOperation = !id.includes("-");
      await (isOperation ? page.getByRole("form").first() : page.locator(`#${id}`)).waitFor();
      await page.evaluate(axe.source);
      // What is closed cannot be seen, and looking through all of it takes a minute.
      const left = known ?? ".entry:not([open]) > .body";
      await page.evaluate(
        `for (const element of document.querySelectorAll(${JSON.stringify(left)})) element.remove()`,
      );
      for (const { colorScheme, ...size } of VIEWS) {
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme });
        const violations = await page.evaluate(
          "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.length, nodes[0].html, nodes[0].failureSummary]))",
        );
        expect([size, colorScheme, violations]).toEqual([size, colorScheme, []]);
        const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        expect(await page.evaluate(overflow)).toBeLessThanOrEqual(0);
      }
      await page.context().close();
    },
  );

  test("needs nothing from elsewhere, and causes no error of the browser", () => {
    const own = new RegExp(`^${readStack().apiUrl}/($|docs|favicon\\.ico$|api/v1/)`);
    // What the page was told to send to another server, and did not.
    expect(requests.filter((url) => !own.test(url) && url !== FOREIGN)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
