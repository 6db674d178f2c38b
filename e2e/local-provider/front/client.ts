import type { FrontState } from "./fronts.ts";
import type { FrontSpec } from "./listener.ts";

/** Tells the front's process what to do; every method rejects when it does not answer within 2 s. */
export interface FrontClient {
  get(key: string): Promise<FrontState | undefined>;
  put(key: string, spec: FrontSpec): Promise<FrontState>;
  remove(key: string): Promise<void>;
  keys(): Promise<string[]>;
}

const TIMEOUT_MS = 2000;

export function createFrontClient(url: string): FrontClient {
  const call = async (path: string, method = "GET", body?: unknown): Promise<Response> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answer.status >= 500) throw new Error(`the front answers ${answer.status}: ${await answer.text()}`);
    return answer;
  };
  const pathOf = (key: string): string => `/fronts/${encodeURIComponent(key)}`;
  return {
    async get(key) {
      const answer = await call(pathOf(key));
      if (answer.status !== 404) return (await answer.json()) as FrontState;
      await answer.body?.cancel();
      return undefined;
    },
    put: async (key, spec) => (await (await call(pathOf(key), "PUT", spec)).json()) as FrontState,
    async remove(key) {
      await (await call(pathOf(key), "DELETE")).body?.cancel();
    },
    keys: async () => (await (await call("/fronts")).json()) as string[],
  };
}
