import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { findFreePort } from "../../platform/programs/free-port.ts";
import { cacheRoot } from "../../platform/stack/tools.ts";

const run = promisify(execFile);
const VERSION = "26.4.0";
const START_DEADLINE_MS = 600_000;
const ADMIN = "admin";

export interface Keycloak {
  url: string;
  /**
   * A request to the administration of the realms, below `/admin/realms`; the Location of what it makes, or the
   * response's body.
   */
  // biome-ignore lint/suspicious/noExplicitAny: whatever Keycloak responds with
  admin(method: string, path: string, body?: object): Promise<any>;
  stop(): Promise<void>;
}

/** Starts a Keycloak of Maven's repository with an empty database, and downloads it unless the cache folder has it. */
export async function startKeycloak(): Promise<Keycloak> {
  const distribution = await ensureKeycloak();
  // Its build and its database are written beside its programs.
  const folder = mkdtempSync(join(cacheRoot(), "keycloak-run-"));
  await run("cp", ["-r", `${distribution}/.`, folder]);
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const password = randomUUID();
  const flags = [`--http-port=${port}`, "--http-host=127.0.0.1", "--cache=local", `--hostname=${url}`];
  const child = spawn(join(folder, "bin", "kc.sh"), ["start-dev", ...flags], {
    env: {
      ...process.env,
      KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN,
      KC_BOOTSTRAP_ADMIN_PASSWORD: password,
      KC_HEALTH_ENABLED: "false",
    },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const log = createWriteStream(join(folder, "keycloak.log"));
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const stop = async () => {
    if (child.pid !== undefined && child.exitCode === null) {
      process.kill(-child.pid, "SIGKILL");
      await once(child, "exit");
    }
    rmSync(folder, { recursive: true, force: true });
  };
  await waitUntilReady(url, child).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { url, stop, admin: (method, path, body) => administer(url, password, method, path, body) };
}

async function ensureKeycloak(): Promise<string> {
  const folder = join(cacheRoot(), `keycloak-${VERSION}`);
  if (existsSync(folder)) return folder;
  const artifact = `org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`;
  const download = mkdtempSync(join(cacheRoot(), "keycloak-download-"));
  await run("mvn", [
    "-q",
    "-B",
    "dependency:copy",
    `-Dartifact=${artifact}`,
    `-DoutputDirectory=${download}`,
  ]);
  await run("unzip", ["-q", join(download, `keycloak-quarkus-dist-${VERSION}.zip`), "-d", download]);
  renameSync(join(download, `keycloak-${VERSION}`), folder);
  rmSync(download, { recursive: true });
  return folder;
}

async function waitUntilReady(url: string, child: ChildProcess): Promise<void> {
  const deadlineMs = Date.now() + START_DEADLINE_MS;
  for (;;) {
    const isReady = await fetch(`${url}/realms/master`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    if (child.exitCode !== null) throw new Error(`Keycloak ended with ${child.exitCode}`);
    if (Date.now() > deadlineMs) throw new Error("Keycloak did not start in time");
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function administer(url: string, password: string, method: string, path: string, body?: object) {
  const granted = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "password", client_id: "admin-cli", username: ADMIN, password }),
  });
  const { access_token } = (await granted.json()) as { access_token: string };
  const response = await fetch(`${url}/admin/realms${path}`, {
    method,
    headers: { authorization: `Bearer ${access_token}`, "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  if (response.status === 201) return response.headers.get("location")?.split("/").at(-1);
  return text === "" ? undefined : JSON.parse(text);
}

/**
 * Signs a person in by the device flow, as a browser does that opens the address and sends each form. Returns the
 * access token.
 */
export async function signInByDevice(
  issuer: string,
  clientId: string,
  { username, password }: { username: string; password: string },
): Promise<string> {
  const endpoints = `${issuer}/protocol/openid-connect`;
  const post = (path: string, fields: Record<string, string>) =>
    fetch(`${endpoints}/${path}`, { method: "POST", body: new URLSearchParams(fields) });
  const started = await post("auth/device", { client_id: clientId, scope: "openid" });
  // biome-ignore lint/suspicious/noExplicitAny: RFC 8628, section 3.2
  const device = (await started.json()) as any;
  const browse = createBrowser();
  let page = await browse(device.verification_uri_complete);
  for (const fields of [{ username, password }, { accept: "Yes" }]) page = await browse.submit(page, fields);
  const granted = await post("token", {
    client_id: clientId,
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: device.device_code,
  });
  // biome-ignore lint/suspicious/noExplicitAny: RFC 6749, section 5.1
  const { access_token, error } = (await granted.json()) as any;
  if (access_token === undefined)
    throw new Error(`no token: ${error}; the last page was ${page.text.slice(0, 2000)}`);
  return access_token;
}

interface Page {
  url: string;
  text: string;
}

/** Follows redirects with cookies, and sends the form of a page. */
function createBrowser() {
  const cookies = new Map<string, string>();
  async function open(url: string, init: RequestInit = {}): Promise<Page> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { ...init, redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    return location === null ? { url, text: await response.text() } : open(new URL(location, url).href);
  }
  async function submit({ url, text }: Page, fields: Record<string, string>): Promise<Page> {
    const [, action = ""] = /<form[^>]* action="([^"]+)"/.exec(text) ?? [];
    const hidden = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const body = new URLSearchParams({
      ...Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value])),
      ...fields,
    });
    return open(new URL(action.replaceAll("&amp;", "&"), url).href, { method: "POST", body });
  }
  return Object.assign((url: string) => open(url), { submit });
}
