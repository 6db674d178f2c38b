import { join } from "node:path";
import type { Context, Place } from "./context.ts";
import type { Pod } from "./kinds.ts";
import { IMAGE } from "./pod-container.ts";
import { createTokens } from "./tokens.ts";
import { composeVolume, createFolder, hasFiles, writeVolume } from "./volumes.ts";

/** The volumes of a Pod as folders of this machine. */
export interface PodVolumes {
  folderOf: (name: string) => string;
  /** Makes the files what their sources are now. Rejects while one is missing. */
  sync(): Promise<void>;
}

export function createPodVolumes(context: Context, pod: Pod, { podIP, folder }: Place): PodVolumes {
  const { spec, metadata } = pod;
  const tokens = createTokens(context.transport, pod, context.config.tokenRefreshSeconds);
  const sources = context.sourcesOf(metadata.namespace ?? "");
  const tokenSources = (spec.volumes ?? []).flatMap(({ projected }) =>
    (projected?.sources ?? []).flatMap(({ serviceAccountToken }) => serviceAccountToken ?? []),
  );
  const { runAsUser, runAsGroup, fsGroup } = spec.securityContext ?? {};
  const owner = { uid: runAsUser ?? IMAGE.uid, gid: fsGroup ?? runAsGroup ?? IMAGE.gid };
  const folderOf = (name: string): string => join(folder, "volumes", name);
  return {
    folderOf,
    async sync() {
      await tokens.refresh(tokenSources);
      for (const volume of spec.volumes ?? []) {
        if (hasFiles(volume)) {
          const files = composeVolume(volume, { pod, podIP, sources, tokenOf: tokens.get });
          writeVolume(folderOf(volume.name), files, owner);
        } else createFolder(folderOf(volume.name), owner);
      }
    },
  };
}
