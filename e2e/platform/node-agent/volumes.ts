import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { ConfigMap, Secret } from "../../../shared/kube/core-kinds.ts";
import { ContainerConfigError, readField, type Sources } from "./environment.ts";
import type { KeyToPath, Pod, Projection, Reference, Volume } from "./kinds.ts";

/** The files of a volume by their path in it. */
export type VolumeFiles = Record<string, Buffer>;

export interface VolumeInput {
  pod: Pod;
  podIP: string;
  sources: Sources;
  /** The current token for a source of a projected volume. */
  tokenOf(source: NonNullable<Projection["serviceAccountToken"]>): string;
}

/** Whether the agent fills the volume with files; any other is an empty folder. */
export function hasFiles(volume: Volume): boolean {
  return volume.emptyDir === undefined;
}

function selectFiles(
  all: Record<string, Buffer>,
  items: KeyToPath[] | undefined,
  of: Reference & { kind: string },
) {
  if (items === undefined) return all;
  const files: VolumeFiles = {};
  for (const { key, path } of items) {
    const value = all[key];
    if (value !== undefined) files[path] = value;
    else if (of.optional !== true)
      throw new ContainerConfigError(`${of.kind} "${of.name}" has no key "${key}"`);
  }
  return files;
}

function requireFound<T>(object: T | undefined, kind: string, { name, optional }: Reference): T | undefined {
  if (object === undefined && optional !== true)
    throw new ContainerConfigError(`${kind} "${name}" not found`);
  return object;
}

function filesOfSecret(secret: Secret | undefined): Record<string, Buffer> {
  const data = Object.entries(secret?.data ?? {});
  return Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(value, "base64")]));
}

function filesOfConfigMap(configMap: ConfigMap | undefined): Record<string, Buffer> {
  const text = Object.entries(configMap?.data ?? {}).map(([key, value]) => [key, Buffer.from(value)]);
  const binary = Object.entries(configMap?.binaryData ?? {});
  return Object.fromEntries([...text, ...binary.map(([key, value]) => [key, Buffer.from(value, "base64")])]);
}

function composeProjection(projection: Projection, input: VolumeInput): VolumeFiles {
  const { secret, configMap, downwardAPI, serviceAccountToken } = projection;
  if (secret) {
    const found = requireFound(input.sources.secret(secret.name), "secret", secret);
    return selectFiles(filesOfSecret(found), secret.items, { ...secret, kind: "secret" });
  }
  if (configMap) {
    const found = requireFound(input.sources.configMap(configMap.name), "configmap", configMap);
    return selectFiles(filesOfConfigMap(found), configMap.items, { ...configMap, kind: "configmap" });
  }
  if (downwardAPI) {
    const items = downwardAPI.items ?? [];
    return Object.fromEntries(
      items.map(({ path, fieldRef }) => [
        path,
        Buffer.from(readField(input.pod, input.podIP, fieldRef?.fieldPath ?? "")),
      ]),
    );
  }
  if (serviceAccountToken)
    return { [serviceAccountToken.path]: Buffer.from(input.tokenOf(serviceAccountToken)) };
  throw new ContainerConfigError("a source of a projected volume is not supported");
}

/**
 * The files of a volume. Throws ContainerConfigError when an object is missing or the kind of volume is not supported.
 */
export function composeVolume(volume: Volume, input: VolumeInput): VolumeFiles {
  const { secret, configMap, projected } = volume;
  if (secret) return composeProjection({ secret: { ...secret, name: secret.secretName } }, input);
  if (configMap) return composeProjection({ configMap }, input);
  if (projected) {
    const parts = (projected.sources ?? []).map((source) => composeProjection(source, input));
    return Object.assign({}, ...parts);
  }
  throw new ContainerConfigError(`the kind of the volume ${volume.name} is not supported`);
}

/** Creates an empty folder that belongs to `owner`. */
export function createFolder(folder: string, owner: { uid: number; gid: number }): void {
  mkdirSync(folder, { recursive: true, mode: 0o770 });
  chownSync(folder, owner.uid, owner.gid);
}

/**
 * Makes a folder hold exactly these files, all at once, as kubelet does: `..data` is a link to the folder of the
 * current ones, and each file a link through it. Unchanged files are left alone.
 */
export function writeVolume(folder: string, files: VolumeFiles, owner: { uid: number; gid: number }): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const current = readCurrent(folder);
  if (current !== undefined && isSame(join(folder, current), files)) return;
  // Two writes may fall into one millisecond.
  const next = basename(mkdtempSync(join(folder, "..data-")));
  chmodSync(join(folder, next), 0o755);
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, next, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
    writeFileSync(file, content, { mode: 0o440 });
    chownSync(file, owner.uid, owner.gid);
  }
  writeFileSync(join(folder, next, LIST), JSON.stringify(Object.keys(files).sort()), { mode: 0o444 });
  symlinkSync(next, join(folder, "..data.next"));
  renameSync(join(folder, "..data.next"), join(folder, "..data"));
  linkNames(folder, new Set(Object.keys(files).map((path) => path.split("/")[0] ?? path)));
  if (current !== undefined) rmSync(join(folder, current), { recursive: true });
}

const LIST = "..files.json";

/** Links that are right are left alone: a program may read through one at any time. */
function linkNames(folder: string, names: ReadonlySet<string>): void {
  const linked = new Set(readdirSync(folder).filter((name) => !name.startsWith("..")));
  for (const name of names) if (!linked.has(name)) symlinkSync(join("..data", name), join(folder, name));
  for (const name of linked) if (!names.has(name)) rmSync(join(folder, name));
}

function readCurrent(folder: string): string | undefined {
  try {
    return readlinkSync(join(folder, "..data"));
  } catch {
    // The first time.
    return undefined;
  }
}

function isSame(folder: string, files: VolumeFiles): boolean {
  const names: string[] = JSON.parse(readFileSync(join(folder, LIST), "utf8"));
  if (JSON.stringify(Object.keys(files).sort()) !== JSON.stringify(names)) return false;
  return names.every((name) => files[name]?.equals(readFileSync(join(folder, name))));
}
