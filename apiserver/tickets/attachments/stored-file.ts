import { create } from "content-disposition";
import { ApiError } from "../../http/errors.ts";
import type { UseStore } from "./objects/use-store.ts";
import type { NewAttachment } from "./present.ts";
import type { AttachmentRow } from "./table.ts";

const DOWNLOAD_SECONDS = 60;

/** Time to begin an upload; also of a link that a client lost and asks for no second time. */
const UPLOAD_SECONDS = 15 * 60;

type Upload = NewAttachment["upload"];

type Terms = Place & { contentType: string; sizeBytes: number; sha256: string };

interface Place {
  orgId: string;
  ticketId: string;
  id: string;
}

/** Where the bytes are uploaded to. */
export function uploadKey(place: Place): string {
  return `quarantine/${pathOf(place)}`;
}

/** Where they are once they are verified. */
export function finalKey(place: Place): string {
  return `attachments/${pathOf(place)}`;
}

/** Ids alone: what people name their files is no part of a key. */
function pathOf({ orgId, ticketId, id }: Place): string {
  return `${orgId}/${ticketId}/${id}`;
}

/** The request that uploads exactly the announced bytes. Throws 503. */
export async function signUpload(useStore: UseStore, file: Terms, at: Date): Promise<Upload> {
  const signed = await useStore((store) => store.signUpload(uploadKey(file), file, UPLOAD_SECONDS));
  return {
    method: "PUT",
    ...signed,
    expires_at: new Date(at.getTime() + UPLOAD_SECONDS * 1000).toISOString(),
  };
}

/** The address of a completed attachment's bytes, for a minute. Throws 409 conflict for one without them, and 503. */
export async function signDownload(useStore: UseStore, row: AttachmentRow): Promise<string> {
  if (row.completedAt === null) {
    throw new ApiError("conflict", "The upload of this attachment has not been completed.");
  }
  return useStore((store) => store.signDownload(finalKey(row), create(row.filename), DOWNLOAD_SECONDS));
}
