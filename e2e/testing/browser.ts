import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";

/** The browser of this machine, or the one that MARINA_BROWSER names; undefined when there is none. */
export function findBrowser(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const known = [
    process.env.MARINA_BROWSER,
    ...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))),
    MAC,
  ];
  return known.find((file) => file !== undefined && existsSync(file));
}

/** Starts a browser without a window. */
export function startBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}
