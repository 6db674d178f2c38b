import type { FrontState } from "./fronts.ts";
import type { FrontSpec } from "./listener.ts";

/** A client of the front's control address; every method rejects without a response within 2 s. */
export interface FrontClient {
  get(key: string): Promise<FrontState | undefined>;
  put(key: string, spec: FrontSpec): Promise<FrontState>;
  remove(key: string): Promise<void>;
  keys(): Promise<string[]>;
}

const TIMEOUT_MS = 2000;

export function createFrontClient(url: string): FrontClient {
  const call = async (path: string, method = "GET", body?: unknown): Promise<Response> => {
    const response = await fetch(`${url}${path}`, {
      method,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (response.status >= 500)
      throw new Error(`the front responds with ${response.status}: ${await response.text()}`);
    return response;
  };
  const pathOf = (key: string): string => `/fronts/${encodeURIComponent(key)}`;
  return {
    async get(key) {
      const response = await call(pathOf(key));
      if (response.status !== 404) return (await response.json()) as FrontState;
      await response.body?.cancel();
      return undefined;
    },
    put: async (key, spec) => (await (await call(pathOf(key), "PUT", spec)).json()) as FrontState,
    async remove(key) {
      await (await call(pathOf(key), "DELETE")).body?.cancel();
    },
    keys: async () => (await (await call("/fronts")).json()) as string[],
  };
}
