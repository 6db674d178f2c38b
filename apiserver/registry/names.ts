import { z } from "@hono/zod-openapi";
import { pageQuery } from "../http/contract/page.ts";
import { notFound } from "../http/errors.ts";

/** Names of repositories (OCI distribution specification 1.1) without the organization's prefix: 255 with it. */
const REPOSITORY_PATTERN = /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG_PATTERN = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
export const MAX_REPOSITORY_LENGTH = 200;
export const MAX_TAG_LENGTH = 128;
/** Tags of a repository that one request counts: for each page of them the registry reads all. */
export const MAX_TAGS = 10_000;
/** Tags that are deleted with a repository, well within its 55 seconds: each is looked up, and each image is deleted. */
export const MAX_DELETED_TAGS = 2000;

/** What every repository of an organization begins with in the registry: its id, for slugs change owners. */
export function repositoryPrefix(orgId: string): string {
  return `org-${orgId}/`;
}

/** The path parameters of a repository and a tag. A text that can be no name is 404, as an unknown one is. */
export const repositoryParam = z.string().openapi({
  description: "The name below the organization's prefix; its slashes are sent as %2F.",
  example: "web",
  maxLength: MAX_REPOSITORY_LENGTH,
});
export const tagParam = z
  .string()
  .openapi({ description: "The tag.", example: "v1.4.2", maxLength: MAX_TAG_LENGTH });

/** Throws 404 unless `name` can be a repository. Returns its name in the registry. */
export function requireRepositoryName(orgId: string, name: string): string {
  if (!isRepositoryName(name)) throw notFound("repository");
  return `${repositoryPrefix(orgId)}${name}`;
}

/** Whether a text is the name of a repository below the prefix of an organization. */
export function isRepositoryName(name: string): boolean {
  return name.length <= MAX_REPOSITORY_LENGTH && REPOSITORY_PATTERN.test(name);
}

/** Throws 404 unless `tag` can be a tag. */
export function requireTagName(tag: string): string {
  if (!TAG_PATTERN.test(tag)) throw notFound("tag");
  return tag;
}

/** The organization and the name of a repository in the registry; undefined for one that is not Marina's. */
export function parseRepository(repository: string): { orgId: string; name: string } | undefined {
  const [, orgId, name] = PREFIXED_PATTERN.exec(repository) ?? [];
  return orgId === undefined || name === undefined ? undefined : { orgId, name };
}

const PREFIXED_PATTERN = /^org-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\/(.+)$/;

const MAX_CURSOR_LENGTH = 400;
const CURSOR_PATTERN = /^[A-Za-z0-9_-]+$/;
/** What names of repositories and tags consist of. */
const NAME_START = /^[A-Za-z0-9._/-]*/;

/** The query of a list whose items have a name instead of an id: the cursor is the last name, in base64url. */
export const namePageQuery = pageQuery.extend({
  cursor: z
    .string()
    .regex(CURSOR_PATTERN, { error: "must be a next_cursor of this list" })
    .max(MAX_CURSOR_LENGTH)
    .optional()
    .openapi({ description: "The next_cursor of the previous page." }),
});

/** The schema of a page of such items; `name` is its component name in the OpenAPI document. */
export function namePageSchema<T extends z.ZodType>(item: T, name: string) {
  return z
    .object({
      items: z.array(item).max(100).openapi({ description: "The records of this page." }),
      next_cursor: z
        .string()
        .max(MAX_CURSOR_LENGTH)
        .nullable()
        .openapi({ description: "Pass it as cursor; null at the end." }),
    })
    .openapi(name);
}

/** The name that a cursor stands for. Of a cursor that no page gave, what could be one. */
export function cursorToName(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  return NAME_START.exec(Buffer.from(cursor, "base64url").toString("utf8"))?.[0];
}

/** The cursor of the page after `name`. */
export function nameToCursor(name: string): string {
  return Buffer.from(name).toString("base64url");
}
