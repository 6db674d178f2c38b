import { recordAudit } from "../audit/index.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import type { Caller } from "../http/contract/caller.ts";
import { isNotModified } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { notFound } from "../http/errors.ts";
import type { UseRegistry } from "./backend/access.ts";
import type { RegistryBackend } from "./backend/backend.ts";
import { repositoryParam, requireRepositoryName, requireTagName, tagParam } from "./names.ts";
import { presentScan, scanTag } from "./present.ts";
import { keepReport } from "./scans/record-report.ts";
import { findScan, PRIORITIES, requestScan } from "./scans/store.ts";
import { scanRecord } from "./schema.ts";

const tag = "Registry";
const RECORD = "/api/v1/organizations/{orgID}/registry/repositories/{repoName}/tags/{tag}/scan";
const params = { repoName: repositoryParam, tag: tagParam };
const RETRY_AFTER_SECONDS = "5";

/** Operations on the scan of the image that a tag names. */
export function addScanRoutes(router: Router, deps: Deps, useRegistry: UseRegistry): void {
  const readScan = (orgId: string, names: ImageNames) =>
    useRegistry(async (backend) => {
      const { repository, digest } = await requireImage(backend, orgId, names);
      if (backend.ownScans === undefined) return { digest, scan: await findScan(deps.db, orgId, digest) };
      const image = { orgId, digest, repository: names.repoName };
      const own = await backend.ownScans.find(repository, digest);
      return { digest, scan: own && (await keepReport(deps.db, image, own, deps.now())) };
    });
  /** Requests a scan of the registry itself; undefined for one that has no scanner. */
  const requestOwnScan = (orgId: string, names: ImageNames, caller: Caller) =>
    useRegistry(async (backend) => {
      const { repository, digest } = await requireImage(backend, orgId, names);
      if (backend.ownScans === undefined) return { digest, own: undefined };
      const image = { orgId, digest, repository: names.repoName };
      await caller.confirm(deps.db);
      // The registry forgets its report when it scans again.
      const last = await backend.ownScans.find(repository, digest);
      if (last !== undefined) await keepReport(deps.db, image, last, deps.now());
      const own = await backend.ownScans.request(repository, digest);
      return { digest, own: await keepReport(deps.db, image, own, deps.now()) };
    });

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getTagScan",
      tag,
      summary: "Get the vulnerabilities of an image",
      description:
        "The result belongs to the digest that the tag names now. While a scan runs, Summary and Vulnerabilities are those of the last one that finished.",
      access: "registry:read",
      params,
      responses: {
        200: { description: "The result.", body: scanRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { orgId, params }) => {
      const { digest, scan } = await readScan(orgId, params);
      const etag = scanTag(digest, scan);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentScan(scan), 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "post",
      path: RECORD,
      operationId: "requestTagScan",
      tag,
      summary: "Scan an image",
      description:
        "Also one that was scanned before. A scan of the image that is pending or running goes on.",
      access: "registry:write",
      params,
      responses: {
        202: {
          description: "Accepted: the scan, which is pending or running.",
          body: scanRecord,
          headers: ["Location", "Retry-After"],
        },
      },
    },
    async (c, { orgId, author, caller, params, transact }) => {
      const { digest, own } = await requestOwnScan(orgId, params, caller);
      return transact(
        async (tx) => {
          const request = { orgId, digest, repository: params.repoName, priority: PRIORITIES.requested };
          const scan = own ?? (await requestScan(tx, { ...request, at: deps.now() }));
          await recordAudit(tx, author, {
            action: "registry_scan.request",
            orgId,
            target: { kind: "image", id: digest },
            after: { repository: params.repoName, tag: params.tag },
            result: "done",
          });
          return scan;
        },
        (scan) =>
          c.json(presentScan(scan), 202, { Location: c.req.path, "Retry-After": RETRY_AFTER_SECONDS }),
      );
    },
  );
}

interface ImageNames {
  repoName: string;
  tag: string;
}

/** The repository with the organization's prefix, and what the tag names there. Throws 404. */
async function requireImage(
  backend: RegistryBackend,
  orgId: string,
  { repoName, tag }: ImageNames,
): Promise<{ repository: string; digest: string }> {
  const repository = requireRepositoryName(orgId, repoName);
  const digest = await backend.findDigest(repository, requireTagName(tag));
  if (digest === undefined) throw notFound("tag");
  return { repository, digest };
}
