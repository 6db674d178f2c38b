import { Buffer } from "node:buffer";
import type { RequestListener } from "node:http";
import { composeKubeconfig } from "../../shared/kube/kubeconfig.ts";
import type { Deps } from "../deps.ts";
import type { Caller } from "../http/contract/caller.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { createTenantReaders } from "./tenant-reader.ts";

/** For a read that is expected to succeed: more than a slow machine needs. */
export const PATIENT = 60_000;

/** A cluster that runs, with its API server at this address. */
export const aCluster = (apiServerURL: string) =>
  ({
    orgId: "one",
    status: "running",
    object: { status: { firstReadyAt: "2026-11-21T09:00:00Z", apiServerURL } },
  }) as ProjectedCluster;

export const aKubeconfig = (server: string, ca: string) =>
  composeKubeconfig({ cluster: "first", user: "admin", server, ca, credential: { token: "secret" } });

/** A reader of clusters whose Secrets have this kubeconfig, for a request that ends with `signal`. */
export function createReader(kubeconfig: string, allMs = PATIENT, signal?: AbortSignal) {
  const value = Buffer.from(kubeconfig).toString("base64");
  const deps = { kube: { get: async () => ({ data: { value } }) } } as unknown as Deps;
  const caller = { request: { signal } } as Pick<Caller, "request">;
  return createTenantReaders({ allMs, callMs: allMs })(deps, caller);
}

export const json =
  (body: unknown, status = 200): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };

/** A list, which is an empty table too. */
export const listOf = (items: unknown, metadata: unknown = {}) => ({
  kind: "List",
  metadata,
  columnDefinitions: [],
  items,
});

/** A record of some characters for each key: of 300,000 it is nearly as large as a response may be. */
export const manyKeys = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [index.toString(36), ""]));

const MEGABYTE = Buffer.alloc(1024 * 1024, " ");

/** Writes so many MiB, as fast as they are taken, after the `first` bytes. */
export const large =
  (megabytes: number, { each = MEGABYTE, first = "", status = 200 } = {}): RequestListener =>
  (_request, response) => {
    let left = megabytes;
    response.writeHead(status, { "content-type": "application/json" });
    response.write(first);
    const write = () => {
      while (left > 0 && !response.destroyed && response.write(each)) left -= 1;
      if (left <= 0) response.end();
    };
    response.on("drain", () => {
      left -= 1;
      write();
    });
    write();
  };

export const slowBytes: RequestListener = (_request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  const timer = setInterval(() => response.write(" "), 50);
  response.on("close", () => clearInterval(timer));
};
