import type { RegistryBackend } from "../backend/backend.ts";
import type { Vulnerability } from "../report.ts";
import { findScanTarget } from "./manifest.ts";
import { ScanError } from "./scan-error.ts";

/** What scanning one digest came to. */
export type ScanOutcome =
  | { kind: "found"; vulnerabilities: Vulnerability[] }
  | { kind: "unsupported"; reason: string };

export interface ScanSteps {
  backend: Pick<RegistryBackend, "findManifest">;
  /** Scans the image of one manifest. */
  scanManifest: (digest: string) => Promise<Vulnerability[]>;
}

/** Scans the image of a digest, or every image of an index one after the other. Throws ScanError and BackendError. */
export async function scanImage(
  { backend, scanManifest }: ScanSteps,
  repository: string,
  digest: string,
): Promise<ScanOutcome> {
  const target = await findTarget(backend, repository, digest);
  if (target.kind === "unsupported") return target;
  if (target.kind === "image") return { kind: "found", vulnerabilities: await scanManifest(digest) };
  const vulnerabilities: Vulnerability[] = [];
  let isScanned = false;
  for (const child of target.digests) {
    const { kind } = await findTarget(backend, repository, child);
    if (kind !== "image") continue;
    vulnerabilities.push(...(await scanManifest(child)));
    isScanned = true;
  }
  if (!isScanned) return { kind: "unsupported", reason: "the index lists no image" };
  return { kind: "found", vulnerabilities };
}

async function findTarget(backend: ScanSteps["backend"], repository: string, digest: string) {
  const manifest = await backend.findManifest(repository, digest);
  if (manifest === undefined) throw new ScanError("image_gone", `${digest} is not in the registry`);
  return findScanTarget(manifest.content);
}
