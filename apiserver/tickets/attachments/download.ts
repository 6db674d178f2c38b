import { create } from "content-disposition";
import { ApiError } from "../../http/errors.ts";
import { finalKey } from "./keys.ts";
import type { UseStore } from "./objects/use-store.ts";
import type { AttachmentRow } from "./table.ts";

const DOWNLOAD_SECONDS = 60;

/** The address of a completed attachment's bytes, for a minute. Throws 409 conflict for one without them, and 503. */
export async function signDownload(useStore: UseStore, row: AttachmentRow): Promise<string> {
  if (row.completedAt === null) {
    throw new ApiError("conflict", "The upload of this attachment has not been completed.");
  }
  return useStore((store) => store.signDownload(finalKey(row), create(row.filename), DOWNLOAD_SECONDS));
}
