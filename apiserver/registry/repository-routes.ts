import { messageOf } from "../../shared/program/errors.ts";
import { type AuditEntry, recordAudit } from "../audit/index.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { type Caller, transactAs } from "../http/contract/caller.ts";
import { isNotModified, readPreconditions, requireMatch } from "../http/contract/etag.ts";
import { cutPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { UseRegistry } from "./backend/access.ts";
import { deleteImages, listRepositories, listTagNames, listTags } from "./images.ts";
import {
  cursorToName,
  MAX_DELETED_TAGS,
  MAX_TAGS,
  namePageQuery,
  nameToCursor,
  repositoryParam,
  repositoryPrefix,
  requireRepositoryName,
  requireTagName,
  tagParam,
} from "./names.ts";
import { presentRepository, repositoryTag } from "./present.ts";
import { repositoryDetail, repositoryPage, tagPage } from "./schema.ts";

const tag = "Registry";
const COLLECTION = "/api/v1/organizations/{orgID}/registry/repositories";
const RECORD = `${COLLECTION}/{repoName}`;
const TAGS = `${RECORD}/tags`;
const TOO_MANY_TAGS = `The repository has more than ${MAX_DELETED_TAGS} tags: delete tags first.`;

/** Operations on the repositories of an organization. */
export function addRepositoryRoutes(router: Router<Deps>, useRegistry: UseRegistry): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listRepositories",
      tag,
      summary: "List the repositories",
      access: "registry:read",
      query: namePageQuery,
      responses: { 200: { description: "A page, in the order of their names.", body: repositoryPage } },
    },
    async (c, { deps, orgId, caller, query }) => {
      const { names, next } = await useRegistry(caller.request, (backend) =>
        listRepositories(backend, repositoryPrefix(orgId), {
          after: cursorToName(query.cursor),
          limit: query.limit,
        }),
      );
      const page = cutPage(names, {
        present: (name) => presentRepository(deps.config.registry, orgId, name),
        cursorOf: nameToCursor,
        next: next === undefined ? null : nameToCursor(next),
      });
      return c.json(page, 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getRepository",
      tag,
      summary: "Get a repository",
      access: "registry:read",
      params: { repoName: repositoryParam },
      responses: {
        200: { description: "The repository.", body: repositoryDetail, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, orgId, caller, params: { repoName } }) => {
      const repository = requireRepositoryName(orgId, repoName);
      const tags = await useRegistry(caller.request, (backend) => listTagNames(backend, repository));
      if (tags.length === 0) throw notFound("repository");
      const etag = repositoryTag(tags);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      const record = presentRepository(deps.config.registry, orgId, repoName);
      return c.json({ ...record, tag_count: Math.min(tags.length, MAX_TAGS) }, 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "deleteRepository",
      tag,
      summary: "Delete a repository",
      description: `With all its tags. Of more than ${MAX_DELETED_TAGS} none is deleted, with 409 conflict: delete tags first. A repeated request continues a deletion that was interrupted.`,
      access: "registry:write",
      params: { repoName: repositoryParam },
      responses: { 204: { description: "Deleted." } },
      errors: ["precondition_failed", "conflict"],
    },
    async (c, { deps, orgId, caller, params: { repoName } }) => {
      const repository = requireRepositoryName(orgId, repoName);
      const entry = {
        action: "repository.delete",
        orgId,
        target: { kind: "repository", id: repoName },
      } as const;
      await useRegistry(caller.request, async (backend) => {
        const tags = await listTagNames(backend, repository);
        if (tags.length === 0) throw notFound("repository");
        requireMatch(readPreconditions(c), repositoryTag(tags));
        if (tags.length > MAX_DELETED_TAGS) throw new ApiError("conflict", TOO_MANY_TAGS);
        await doRecorded(deps, caller, entry, () => deleteImages(backend, repository, tags));
      });
      return c.body(null, 204);
    },
  );
}

/** Operations on the tags of a repository. */
export function addTagRoutes(router: Router<Deps>, useRegistry: UseRegistry): void {
  addRoute(
    router,
    {
      method: "get",
      path: TAGS,
      operationId: "listTags",
      tag,
      summary: "List the tags of a repository",
      access: "registry:read",
      params: { repoName: repositoryParam },
      query: namePageQuery,
      responses: { 200: { description: "A page, in the order of their names.", body: tagPage } },
    },
    async (c, { orgId, caller, params: { repoName }, query }) => {
      const repository = requireRepositoryName(orgId, repoName);
      const after = cursorToName(query.cursor);
      const { items, next } = await useRegistry(caller.request, (backend) =>
        listTags(backend, repository, { after, limit: query.limit }),
      );
      if (items.length === 0 && after === undefined) throw notFound("repository");
      const page = cutPage(items, {
        present: (item) => item,
        cursorOf: ({ name }) => nameToCursor(name),
        next: next === undefined ? null : nameToCursor(next),
      });
      return c.json(page, 200);
    },
  );

  addRoute(
    router,
    {
      method: "delete",
      path: `${TAGS}/{tag}`,
      operationId: "deleteTag",
      tag,
      summary: "Delete a tag",
      description:
        "Other tags of the same image stay. If-Match compares the first 32 hexadecimal digits of the digest, in quotes.",
      access: "registry:write",
      params: { repoName: repositoryParam, tag: tagParam },
      responses: { 204: { description: "Deleted." } },
      errors: ["precondition_failed"],
    },
    async (c, { deps, orgId, caller, params }) => {
      const repository = requireRepositoryName(orgId, params.repoName);
      const reference = requireTagName(params.tag);
      const target = { kind: "repository_tag", id: `${params.repoName}:${params.tag}` } as const;
      await useRegistry(caller.request, async (backend) => {
        const digest = await backend.findDigest(repository, reference);
        if (digest === undefined) throw notFound("tag");
        requireMatch(readPreconditions(c), toTagVersion(digest));
        await doRecorded(deps, caller, { action: "repository_tag.delete", orgId, target }, async () => {
          if (!(await backend.deleteTag(repository, reference))) throw notFound("tag");
        });
      });
      return c.body(null, 204);
    },
  );
}

/**
 * Does in the registry what the audit log has as accepted, which is committed first, with the confirmation of the caller's right. A
 * second row says that it was done, or has failed; a crash, or a database that fails, leaves the first alone. Throws what `confirm` and `effect` throw.
 */
export async function doRecorded<T>(
  { db, log }: Pick<Deps, "db" | "log">,
  caller: Caller,
  entry: Omit<AuditEntry, "result">,
  effect: () => Promise<T>,
): Promise<T> {
  await transactAs(db, caller, (tx) => recordAudit(tx, caller.author, { ...entry, result: "accepted" }));
  const record = (result: AuditEntry["result"]) =>
    recordAudit(db, caller.author, { ...entry, result }).catch((failure: unknown) =>
      log.error({ action: entry.action, result, message: messageOf(failure) }, "an effect has no audit row"),
    );
  try {
    const done = await effect();
    await record("done");
    return done;
  } catch (error) {
    await record("failed");
    throw error;
  }
}

/** The entity tag of a tag: what it names, in 128 of 256 bits. */
function toTagVersion(digest: string): string {
  return `"${digest.replace("sha256:", "").slice(0, 32)}"`;
}
