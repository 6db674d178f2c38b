import { z } from "zod";
import { isRepositoryName, parseRepository } from "../names.ts";

/** The body of a notification (distribution, `application/vnd.docker.distribution.events.v2+json`). */
export const notificationSchema = z.object({
  events: z
    .array(
      z.object({
        action: z.string(),
        target: z.object({
          mediaType: z.string().default(""),
          digest: z.string().default(""),
          repository: z.string().default(""),
          tag: z.string().default(""),
          size: z.int().min(0).catch(0),
        }),
      }),
    )
    .max(1000),
});

/** An image of an organization that was pushed or pulled. */
export interface ImageUse {
  orgId: string;
  digest: string;
  repository: string;
  /** Under a tag: it is to be scanned. What has none is a part of an index, or was there before. */
  isPushed: boolean;
}

/** The images in a notification; blobs and names that are not Marina's are left out. */
export function findImageUses({ events }: z.output<typeof notificationSchema>): ImageUse[] {
  return events.flatMap(({ action, target }) => {
    if (!target.mediaType.includes("manifest") && !target.mediaType.includes("image.index")) return [];
    if (action !== "push" && action !== "pull") return [];
    const place = parseRepository(target.repository);
    if (place === undefined || !isRepositoryName(place.name) || !/^sha256:[0-9a-f]{64}$/.test(target.digest))
      return [];
    const isPushed = action === "push" && target.tag !== "";
    return [{ orgId: place.orgId, digest: target.digest, repository: place.name, isPushed }];
  });
}

/** The bytes of the blobs that were pushed, by organization. A blob that was there before may be among them. */
export function findPushedBytes({ events }: z.output<typeof notificationSchema>): Map<string, number> {
  const bytes = new Map<string, number>();
  for (const { action, target } of events) {
    const { orgId } = parseRepository(target.repository) ?? {};
    if (action !== "push" || orgId === undefined) continue;
    bytes.set(orgId, (bytes.get(orgId) ?? 0) + target.size);
  }
  return bytes;
}
