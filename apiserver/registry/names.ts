import { z } from "@hono/zod-openapi";
import { notFound } from "../http/errors.ts";

/** Names of repositories (OCI distribution specification 1.1) without the organization's prefix: 255 with it. */
const REPOSITORY_PATTERN = /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG_PATTERN = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
export const MAX_REPOSITORY_LENGTH = 200;
export const MAX_TAG_LENGTH = 128;

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
