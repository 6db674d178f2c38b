import { recordAudit } from "../audit/index.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import type { Caller } from "../http/contract/caller.ts";
import { isNotModified } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { notFound } from "../http/errors.ts";
import type { Attempt } from "../http/idempotency/run-once.ts";
import type { UseRegistry } from "./backend/access.ts";
import type { OwnScans, RegistryBackend } from "./backend/backend.ts";
import { repositoryParam, requireRepositoryName, requireTagName, tagParam } from "./names.ts";
import { presentScan, scanTag } from "./present.ts";
import type { ImageScan } from "./report.ts";
import { doRecorded } from "./repository-routes.ts";
import { keepReport } from "./scans/record-report.ts";
import { findScan, PRIORITIES, requestScan, type ScannedImage } from "./scans/store.ts";
import { scanRecord } from "./schema.ts";

const tag = "Registry";
const RECORD = "/api/v1/organizations/{orgID}/registry/repositories/{repoName}/tags/{tag}/scan";
const params = { repoName: repositoryParam, tag: tagParam };
const RETRY_AFTER_SECONDS = "5";

/** Operations on the scan of the image that a tag names. */
export function addScanRoutes(router: Router<Deps>, useRegistry: UseRegistry): void {
  const readScan = (deps: Deps, { slot }: Caller, orgId: string, names: ImageNames) =>
    useRegistry(slot, async (backend) => {
      const { repository, digest } = await requireImage(backend, orgId, names);
      if (backend.ownScans === undefined) return { digest, scan: await findScan(deps.db, orgId, digest) };
      const image = { orgId, digest, repository: names.repoName };
      const own = await backend.ownScans.find(repository, digest);
      return { digest, scan: own && (await keepReport(deps.db, image, own, deps.now())) };
    });
  /** Requests a scan of the registry itself. */
  const requestOwnScan = async (deps: Deps, ownScans: OwnScans, image: ScannedImage, repository: string) => {
    // The registry forgets its report when it scans again.
    const last = await ownScans.find(repository, image.digest);
    if (last !== undefined) await keepReport(deps.db, image, last, deps.now());
    const own = await ownScans.request(repository, image.digest);
    return keepReport(deps.db, image, own, deps.now());
  };

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
    async (c, { deps, orgId, caller, params }) => {
      const { digest, scan } = await readScan(deps, caller, orgId, params);
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
    async (c, { deps, orgId, author, caller, params, transact, runOnce }) => {
      const { repository, digest, ownScans } = await useRegistry(caller.slot, async (backend) => ({
        ...(await requireImage(backend, orgId, params)),
        ownScans: backend.ownScans,
      }));
      const image = { orgId, digest, repository: params.repoName };
      const entry = {
        action: "registry_scan.request",
        orgId,
        target: { kind: "image", id: digest },
        after: { repository: params.repoName, tag: params.tag },
      } as const;
      const respond = (scan: ImageScan | undefined) =>
        c.json(presentScan(scan), 202, { Location: c.req.path, "Retry-After": RETRY_AFTER_SECONDS });
      if (ownScans !== undefined) {
        const findOwn = () => useRegistry(caller.slot, () => ownScans.find(repository, digest));
        const resume = async ({ fixed }: Attempt) => {
          const own = await findOwn();
          const isRequested = own !== undefined && (isPending(own) || reportTimeOf(own) !== fixed);
          return isRequested ? respond(await keepReport(deps.db, image, own, deps.now())) : undefined;
        };
        return runOnce({ resume, fixed: async () => reportTimeOf(await findOwn()) }, async () => {
          const request = () =>
            useRegistry(caller.slot, () => requestOwnScan(deps, ownScans, image, repository));
          return respond(await doRecorded(deps, caller, entry, request));
        });
      }
      return transact(async (tx) => {
        const request = { ...image, priority: PRIORITIES.requested, at: deps.now() };
        const scan = await requestScan(tx, request);
        await recordAudit(tx, author, { ...entry, result: "done" });
        return scan;
      }, respond);
    },
  );
}

const isPending = ({ state }: ImageScan) => state === "pending" || state === "running";

/** When the report of a scan was made; empty while there is none. */
const reportTimeOf = (scan: ImageScan | undefined) => scan?.scannedAt?.toISOString() ?? "";

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
