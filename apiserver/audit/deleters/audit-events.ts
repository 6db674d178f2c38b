import { z } from "zod";
import { GROUP } from "../../../shared/crd/names.ts";
import type { DeletedResource } from "../table.ts";
import type { DeletionRequest } from "./find-deleters.ts";

/** Longer names are cut: the Kubernetes API has no limit for those that it authenticates. */
const MAX_NAME_LENGTH = 253;
/** Clocks of the Kubernetes API may be ahead of this one. */
const MAX_AHEAD_MS = 3_600_000;

const ORGANIZATION_NAMESPACE = /^org-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const storable = z.string().refine((text) => !text.includes("\0") && text.isWellFormed());
const userName = storable.min(1).transform(cutName);
const user = z.object({ username: userName });
const instant = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

/** A deletion that has succeeded (audit.k8s.io/v1 Event). */
const deletionEvent = z
  .object({
    stage: z.literal("ResponseComplete"),
    verb: z.enum(["delete", "deletecollection"]),
    requestURI: z.string(),
    user,
    impersonatedUser: user.optional(),
    objectRef: z.object({
      apiGroup: z.literal(GROUP),
      resource: z.enum(["clusters", "nodepools", "clusteraccesses"] satisfies DeletedResource[]),
      subresource: z.literal("").optional(),
      namespace: z.string().regex(ORGANIZATION_NAMESPACE),
      name: storable.max(MAX_NAME_LENGTH).default(""),
    }),
    responseStatus: z.object({ code: z.int().min(200).max(299) }),
    // DeleteOptions, where the policy has the level Request: kubectl says here alone that it only tries.
    requestObject: z.object({ dryRun: z.array(z.unknown()).max(0).nullish() }).nullish(),
    requestReceivedTimestamp: instant,
    stageTimestamp: instant,
  })
  .refine(({ verb, objectRef }) => (verb === "delete") === (objectRef.name !== ""))
  .refine(({ requestURI }) => !/[?&]dryRun=/.test(requestURI));

/** Cuts between code points: half of one is no text that Postgres can store. */
function cutName(name: string): string {
  const characters = Array.from(name.slice(0, 2 * MAX_NAME_LENGTH + 1));
  return characters.length > MAX_NAME_LENGTH ? `${characters.slice(0, MAX_NAME_LENGTH - 1).join("")}…` : name;
}

/** The body of a request of the Kubernetes API's audit webhook. */
const eventList = z.object({
  apiVersion: z.literal("audit.k8s.io/v1"),
  kind: z.literal("EventList"),
  items: z.array(z.unknown()),
});

/**
 * The successful deletions of objects of organizations in a list of audit events; undefined for another body.
 * An event that is anything else, or that cannot be read, says nothing, and does not hide the others of its list.
 */
export function readDeletionRequests(body: unknown, now: Date): DeletionRequest[] | undefined {
  const list = eventList.safeParse(body);
  return list.data?.items.flatMap((item) => {
    const { data: event } = deletionEvent.safeParse(item);
    if (event === undefined || event.stageTimestamp.getTime() > now.getTime() + MAX_AHEAD_MS) return [];
    const { objectRef, impersonatedUser } = event;
    return [
      {
        orgId: ORGANIZATION_NAMESPACE.exec(objectRef.namespace)?.[1] ?? "",
        resource: objectRef.resource,
        name: objectRef.name,
        username: (impersonatedUser ?? event.user).username,
        impersonator: impersonatedUser === undefined ? "" : event.user.username,
        receivedAt: event.requestReceivedTimestamp,
        completedAt: event.stageTimestamp,
      },
    ];
  });
}
