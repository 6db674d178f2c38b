import type { VersionCatalogue } from "../../shared/crd/kubernetes-version.ts";
import { messageOf } from "../../shared/program/errors.ts";
import { chooseAutoscalerImage } from "../autoscaler/children.ts";
import type { Check } from "./checks.ts";

const DEADLINE_MS = 3_000;
const ACCEPT = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** Where the manifest of an image is. */
export interface ImagePlace {
  host: string;
  url: string;
}

/**
 * Where a node would look for the manifest of an image; undefined for what is no name of an image. Rules of names:
 * https://github.com/distribution/reference; of URLs: https://github.com/opencontainers/distribution-spec, "Pulling manifests".
 * As for kubelet's containerd, a registry on this machine speaks http.
 */
export function locateImage(image: string): ImagePlace | undefined {
  const [first = "", ...rest] = image.split("/");
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const name = hasHost ? rest.join("/") : image;
  const match = /^([a-z0-9][a-z0-9._/-]*)(?::(\w[\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(name);
  const [, path = "", tag = "latest", digest = tag] = match ?? [];
  if (path === "") return undefined;
  const isHub = !hasHost || first === "docker.io";
  const host = isHub ? "registry-1.docker.io" : first;
  const repository = isHub && !path.includes("/") ? `library/${path}` : path;
  const scheme = /^(localhost|127\.[\d.]+)(:\d+)?$/.test(host) ? "http" : "https";
  return { host, url: `${scheme}://${host}/v2/${repository}/manifests/${digest}` };
}

/** The images that the autoscalers of clusters with these versions have, each once; none without an image. */
export function listAutoscalerImages(image: string | undefined, versions: VersionCatalogue): string[] {
  if (image === undefined) return [];
  const offered = versions.filter(({ status }) => status !== "endOfLife");
  const names = offered.map(({ version }) => chooseAutoscalerImage(image, version));
  return [...new Set(names.filter((name) => name !== undefined))];
}

/**
 * Whether the registry of an image has it, by name and without credentials, within 3 s. What does not say so is unknown: nodes
 * may have credentials, a proxy or a mirror. Does not reject. `deadlineMs` for tests, which have more time.
 */
export async function checkImage(image: string, { deadlineMs = DEADLINE_MS } = {}): Promise<Check> {
  const about = "image";
  const place = locateImage(image);
  if (place === undefined) {
    const text = `${image} is no name of an image: autoscaled node pools keep their nodes. Correct MARINA_CLUSTER_AUTOSCALER_IMAGE.`;
    return { state: "warning", about, text };
  }
  const unknown = (cause: string): Check => ({
    state: "unknown",
    about,
    text: `Whether ${place.host} has ${image} could not be seen from here: ${cause}. See that nodes can pull it, by their credentials, proxy or mirror.`,
  });
  try {
    const signal = AbortSignal.timeout(deadlineMs);
    const { ok, status } = await fetch(place.url, { method: "HEAD", headers: { accept: ACCEPT }, signal });
    if (ok) return { state: "ok", about, text: `${place.host} has ${image}.` };
    if (status !== 404) return unknown(`it answered ${status} to a request without credentials`);
    const text = `${place.host} has no ${image}: node pools of clusters that need it are not autoscaled. Push it, or name another in MARINA_CLUSTER_AUTOSCALER_IMAGE.`;
    return { state: "warning", about, text };
  } catch (error) {
    const { name, cause } = error as { name?: string; cause?: { code?: string } };
    return unknown(
      name === "TimeoutError"
        ? `it did not answer within ${deadlineMs / 1000} s`
        : `it cannot be reached (${cause?.code ?? messageOf(error)})`,
    );
  }
}
