import { createSharedSlots } from "../../shared/program/limits.ts";
import { type AuditEntry, isAudited, recordAudit } from "../audit/index.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { type Caller, transactAs } from "../http/contract/caller.ts";
import { isNotModified } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { takeSlot } from "../http/contract/tenant-slot.ts";
import { notFound } from "../http/errors.ts";
import type { Attempt } from "../http/idempotency/run-once.ts";
import type { UseRegistry } from "./backend/access.ts";
import type { OwnScans, RegistryBackend } from "./backend/backend.ts";
import { repositoryParam, requireRepositoryName, requireTagName, tagParam } from "./names.ts";
import { presentRequestedScan, presentScan, scanTag } from "./present.ts";
import type { ScanState, ScanSummary, ScanVersion } from "./report.ts";
import { doRecorded } from "./repository-routes.ts";
import { keepNewReports, keepReport } from "./scans/record-report.ts";
import { findScan, findScanSummary, PRIORITIES, requestScan } from "./scans/store.ts";
import { requestedScanRecord, scanRecord } from "./schema.ts";

const tag = "Registry";
const RECORD = "/api/v1/organizations/{orgID}/registry/repositories/{repoName}/tags/{tag}/scan";
const params = { repoName: repositoryParam, tag: tagParam };
const RETRY_AFTER_SECONDS = "5";

/** Operations on the scan of the image that a tag names. */
export function addScanRoutes(router: Router<Deps>, useRegistry: UseRegistry): void {
  const findImage = ({ caller: { request }, orgId, params }: ScanCall) =>
    useRegistry(request, async (backend) => ({
      ...(await requireImage(backend, orgId, params)),
      ownScans: backend.ownScans,
    }));
  /** The registry's own reports that are held at once, each of up to 64 MiB: no computation waits for the registry. */
  const reports = createSharedSlots({ perKey: 1, all: 2 });
  const useReports = async <T>({ caller: { request } }: ScanCall, work: () => Promise<T>): Promise<T> => {
    const free = request && (await takeSlot(reports, request.tenant, request.ended));
    return work().finally(free);
  };
  /** What the entity tag of a scan is made of, without its report. */
  const findVersion = async (call: ScanCall, { repository, digest, ownScans }: FoundImage) => {
    const last = await findScanSummary(call.deps.db, call.orgId, digest);
    if (ownScans === undefined) return last;
    const own = await useRegistry(call.caller.request, () => ownScans.findVersion(repository, digest));
    return own === undefined || own.state === "success" ? own : { ...(last ?? own), state: own.state };
  };
  const readScan = async (call: ScanCall, { repository, digest, ownScans }: FoundImage, isLarge: boolean) => {
    const { deps, orgId, params, caller } = call;
    const find = () => useRegistry(caller.request, async () => ownScans?.find(repository, digest));
    // Until the computation begins too: requests that wait for one would hold their reports.
    const findLarge = async () => {
      const found = ownScans && (await find());
      await call.acquireComputation();
      return found;
    };
    const own = await (isLarge ? useReports(call, findLarge) : ownScans && find());
    if (ownScans === undefined) return findScan(deps.db, orgId, digest);
    const image = { orgId, digest, repository: params.repoName };
    return own && (await keepReport(deps.db, image, own, deps.now()));
  };
  /** What the last report of the registry's own scans of an image counted; it is kept first, if it is new: true whoever asks. */
  const keepLastReport = async (call: ScanCall, ownScans: OwnScans, digest: string) => {
    const { deps, orgId, params } = call;
    const images = { orgId, repository: params.repoName, digests: [digest] };
    await keepNewReports(deps.db, ownScans, images, { now: deps.now });
    return findScanSummary(deps.db, orgId, digest);
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
        "The result belongs to the digest that the tag names now. While a scan is pending or runs, and after one that failed, ScannedAt, Summary and Vulnerabilities are those of the last one that finished, as long as its vulnerabilities are kept.",
      access: "registry:read",
      params,
      responses: {
        200: { description: "The result.", body: scanRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, call) => {
      const found = await findImage(call);
      const { digest } = found;
      const version = await findVersion(call, found);
      const known = scanTag(digest, version);
      if (isNotModified(c.req.header("if-none-match"), known)) return c.body(null, 304, { ETag: known });
      const scan = await readScan(call, found, hasReport(version));
      return c.json(presentScan(scan), 200, { ETag: scanTag(digest, scan) });
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
        "Also one that was scanned before. A scan of the image that is pending or running goes on, and a request that changes nothing of it has no entry in the audit log. The vulnerabilities are read by GET, at the address in Location.",
      access: "registry:write",
      params,
      responses: {
        202: {
          description: "Accepted: the scan, which is pending or running, with what the last one counted.",
          body: requestedScanRecord,
          headers: ["Location", "Retry-After"],
        },
      },
    },
    async (c, call) => {
      const { deps, orgId, caller, params, runOnce } = call;
      const { repository, digest, ownScans } = await findImage(call);
      const entry = {
        action: "registry_scan.request",
        orgId,
        target: { kind: "image", id: digest },
        after: { repository: params.repoName, tag: params.tag },
      } as const;
      const respond = (scan: ScanSummary) =>
        c.json(presentRequestedScan(scan), 202, { Location: c.req.path, "Retry-After": RETRY_AFTER_SECONDS });
      if (ownScans !== undefined) {
        const findOwn = () => useRegistry(caller.request, () => ownScans.findVersion(repository, digest));
        const respondWith = (state: ScanState, last: ScanSummary | undefined) =>
          respond({ ...(last ?? NO_REPORT), state });
        const readLast = () => useRegistry(caller.request, () => keepLastReport(call, ownScans, digest));
        const resume = async ({ id, storedValue }: Attempt) => {
          const own = await findOwn();
          if (own === undefined || !(isPending(own) || reportTimeOf(own) !== storedValue)) return undefined;
          const { principal } = caller.author;
          const actor =
            principal.kind === "token"
              ? { tokenId: principal.tokenId }
              : { kind: "user", userId: principal.userId };
          const sought = { orgId, action: entry.action, targetId: digest, afterId: id, actor };
          const has = (result: AuditEntry["result"]) => isAudited(deps.db, { ...sought, result });
          if ((await has("accepted")) && !(await has("done")) && !(await has("failed")))
            await transactAs(deps.db, caller, (tx) =>
              recordAudit(tx, caller.author, { ...entry, result: "done" }),
            );
          return respondWith(own.state, await useReports(call, readLast));
        };
        const run = async () => {
          const own = await ownScans.findVersion(repository, digest);
          if (own !== undefined && isPending(own))
            return respondWith(own.state, await findScanSummary(deps.db, orgId, digest));
          // The registry forgets its report when it scans again.
          const last = await keepLastReport(call, ownScans, digest);
          const request = () => ownScans.request(repository, digest);
          return respondWith(await doRecorded(deps, caller, entry, request), last);
        };
        const storedValue = async () => reportTimeOf(await findOwn());
        return runOnce({ resume, storedValue }, () =>
          useReports(call, () => useRegistry(caller.request, run)),
        );
      }
      return call.transact(async (tx) => {
        const image = { orgId, digest, repository: params.repoName };
        const request = { ...image, priority: PRIORITIES.requested, at: deps.now() };
        const scan = await requestScan(tx, request);
        if (scan.hasChanged) await recordAudit(tx, call.author, { ...entry, result: "done" });
        return scan;
      }, respond);
    },
  );
}

const NO_REPORT = { scannedAt: null, databaseVersion: null, summary: null };

const isPending = ({ state }: ScanVersion) => state === "pending" || state === "running";

const hasReport = (scan: ScanVersion | undefined) =>
  scan !== undefined && (scan.scannedAt !== null || scan.state === "success");

/** When the report of a scan was made; empty while there is none. */
const reportTimeOf = (scan: ScanVersion | undefined) => scan?.scannedAt?.toISOString() ?? "";

interface ImageNames {
  repoName: string;
  tag: string;
}

/** Whose request about which image it is. */
interface ScanCall {
  deps: Pick<Deps, "db" | "now">;
  orgId: string;
  caller: Pick<Caller, "request">;
  acquireComputation: () => Promise<void>;
  params: ImageNames;
}

/** What a tag names; `repository` has the organization's prefix. */
interface FoundImage {
  repository: string;
  digest: string;
  ownScans: OwnScans | undefined;
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
