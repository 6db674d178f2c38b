import { z } from "zod";
import { isRepositoryName, parseRepository } from "../names.ts";
import type { PushedBlob } from "../usage/store.ts";

/** A text that Postgres takes; any other counts as none, for the registry repeats what is refused for ever. */
const EVENT_ID = /^[\x21-\x7e]{1,100}$/;

/** The body of a notification (distribution, `application/vnd.docker.distribution.events.v2+json`). */
export const notificationSchema = z.object({
  events: z
    .array(
      z.object({
        /** Equal in every delivery of the event. */
        id: z.string().regex(EVENT_ID).optional().catch(undefined),
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

/** The blobs that were pushed for organizations. */
export function findPushedBlobs({ events }: z.output<typeof notificationSchema>): PushedBlob[] {
  return events.flatMap(({ id, action, target }) => {
    const { orgId } = parseRepository(target.repository) ?? {};
    if (action !== "push" || orgId === undefined || target.size === 0) return [];
    return [{ orgId, eventId: id, bytes: target.size }];
  });
}
