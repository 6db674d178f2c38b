import { readFile } from "node:fs/promises";
import { Agent } from "undici";
import { StorageError } from "../driver.ts";

export interface CephConnection {
  /** Address of the active manager's dashboard module, for example https://ceph.example.com:8443. */
  url: string;
  username: string;
  /** Read at each login, so that a changed password needs no restart. */
  passwordFile: string;
}

export interface CephResponse {
  status: number;
  /** Parsed JSON; undefined for anything else. */
  body: unknown;
}

export interface CephRequest {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the address, encoded. */
  path: string;
  body?: object;
  signal: AbortSignal;
}

/**
 * The manager's REST API. Logs in by itself, again when its token has ended. Resolves to any response of 2xx or 404;
 * every other outcome is a StorageError.
 */
export interface CephApi {
  request(request: CephRequest): Promise<CephResponse>;
}

/** The version of the API, by which the manager distinguishes API requests from those of its own pages. */
const ACCEPT = "application/vnd.ceph.api.v1.0+json";
/** A thousand pools with their figures are 10 MB. */
const MAX_RESPONSE_BYTES = 32 * 2 ** 20;
const CONNECTIONS = 8;
/** Ten logins with a wrong password disable the account: the same one is not sent again for this time. */
const REFUSED_FOR_MS = 30 * 60_000;

interface Login {
  password: string;
  result: Promise<string>;
  /** What the login resulted in. */
  token: string | undefined;
  refusedAtMs: number | undefined;
}

/** Connects to a manager; nothing is sent before the first request. */
export function createCephApi(
  { url, username, passwordFile }: CephConnection,
  nowMs: () => number = () => performance.now(),
): CephApi {
  const base = new URL(url);
  const prefix = base.pathname.replace(/\/+$/, "");
  let login: Login | undefined;
  const agent = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    maxResponseSize: MAX_RESPONSE_BYTES,
    connect: { timeout: 10_000 },
  });

  async function send({ method, path, body, signal }: CephRequest, token?: string): Promise<CephResponse> {
    try {
      const response = await agent.request({
        origin: base.origin,
        method,
        path: prefix + path,
        headers: {
          accept: ACCEPT,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      });
      return { status: response.statusCode, body: parse(await response.body.text()) };
    } catch (error) {
      throw toStorageError(error, signal);
    }
  }

  async function logIn(signal: AbortSignal): Promise<string> {
    const password = await readPassword(passwordFile);
    const refusedAtMs = login?.refusedAtMs;
    const isHeld = refusedAtMs !== undefined && nowMs() - refusedAtMs < REFUSED_FOR_MS;
    if (login?.password === password && (refusedAtMs === undefined || isHeld)) return login.result;
    const started: Login = {
      password,
      result: requestToken(password, signal),
      token: undefined,
      refusedAtMs: undefined,
    };
    login = started;
    try {
      started.token = await started.result;
      return started.token;
    } catch (error) {
      if (error instanceof StorageError && error.kind === "rejected") started.refusedAtMs = nowMs();
      else if (login === started) login = undefined;
      throw error;
    }
  }

  async function requestToken(password: string, signal: AbortSignal): Promise<string> {
    const response = await send({ method: "POST", path: "/api/auth", body: { username, password }, signal });
    const { token } = (response.body ?? {}) as { token?: unknown };
    if (response.status >= 200 && response.status < 300 && typeof token === "string") return token;
    if (response.status === 400 || response.status === 401)
      throw new StorageError("rejected", "it does not accept the operator's password");
    throw describeStatus(response);
  }

  return {
    async request(request) {
      const token = await logIn(request.signal);
      let response = await send(request, token);
      if (response.status === 401) {
        if (login?.token === token) login = undefined;
        response = await send(request, await logIn(request.signal));
      }
      const { status } = response;
      if ((status >= 200 && status < 300) || status === 404) return response;
      throw describeStatus(response);
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function readPassword(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw new StorageError("rejected", "the operator's password for it cannot be read", { cause: error });
  }
}

/** The answers of a manager name its own commands and addresses: tenants get the status alone. */
function describeStatus({ status, body }: CephResponse): StorageError {
  const kind = status >= 400 && status < 500 && status !== 408 && status !== 429 ? "rejected" : "unavailable";
  return new StorageError(kind, `it answered with status ${status}`, { cause: body });
}

function toStorageError(error: unknown, signal: AbortSignal): StorageError {
  if (signal.aborted) return new StorageError("unavailable", "it did not answer in time", { cause: error });
  const { code } = error as NodeJS.ErrnoException;
  if (code === "UND_ERR_RES_EXCEEDED_MAX_SIZE")
    return new StorageError("unavailable", "its answer is too large", { cause: error });
  return new StorageError("unavailable", "it cannot be reached", { cause: error });
}
