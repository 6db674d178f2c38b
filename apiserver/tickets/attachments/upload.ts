import type { z } from "@hono/zod-openapi";
import { uploadKey } from "./keys.ts";
import type { UseStore } from "./objects/use-store.ts";
import type { newAttachmentRecord } from "./schema.ts";

/** Time to begin an upload; also of a link that a client lost and asks for no second time. */
const UPLOAD_SECONDS = 15 * 60;

type Upload = z.output<typeof newAttachmentRecord>["upload"];
type Terms = Parameters<typeof uploadKey>[0] & { contentType: string; sizeBytes: number; sha256: string };

/** The request that uploads exactly the announced bytes. Throws 503. */
export async function signUpload(useStore: UseStore, file: Terms, at: Date): Promise<Upload> {
  const signed = await useStore((store) => store.signUpload(uploadKey(file), file, UPLOAD_SECONDS));
  return {
    method: "PUT",
    ...signed,
    expires_at: new Date(at.getTime() + UPLOAD_SECONDS * 1000).toISOString(),
  };
}
