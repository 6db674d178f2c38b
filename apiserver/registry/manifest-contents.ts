import { z } from "zod";

export interface StoredBlob {
  digest: string;
  size: number;
}

const descriptor = z.object({ digest: z.string(), size: z.int().min(0) });
const contents = z.object({
  config: descriptor.optional().catch(undefined),
  layers: z.array(descriptor).optional().catch(undefined),
  manifests: z.array(descriptor).optional().catch(undefined),
});

/** What a manifest refers to: the blobs of an image, the manifests of an index. */
export function listContents(manifest: unknown): { blobs: StoredBlob[]; manifests: StoredBlob[] } {
  const parsed = contents.safeParse(manifest);
  if (!parsed.success) return { blobs: [], manifests: [] };
  const { config, layers = [], manifests = [] } = parsed.data;
  return { blobs: [...(config === undefined ? [] : [config]), ...layers], manifests };
}
