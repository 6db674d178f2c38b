import { renameSync, writeFileSync } from "node:fs";
import type { ProgramKubeconfigs } from "./environment.ts";
import type { ObjectStoreInfo } from "./object-store.ts";
import type { Part } from "./process-part.ts";
import type { RegistryInfo } from "./registry.ts";
import type { UserName } from "./users.ts";

/** The content of stack.json: addresses, files and processes of a running stack. */
export interface StackInfo {
  apiUrl: string;
  docsUrl: string;
  issuer: string;
  /** For people and tests: the role that owns the schema. */
  databaseUrl: string;
  /** Kubeconfig of a member of system:masters. */
  kubeconfig: string;
  /** Kubeconfigs of Marina's own programs. */
  programKubeconfigs: ProgramKubeconfigs;
  /** Where it is once it is built, and helm in the same way. */
  kubectl: string;
  helm: string;
  /** Folder with one log file per process. */
  logs: string;
  /** An HTTPS server that verifies and prints webhook deliveries; every path is a separate endpoint. */
  webhookReceiver: { url: string; caFile: string };
  /** Folder of the shared storage: `org-<id>` in it holds the files of an organization. */
  sharedStorage: string;
  /** An S3 server; it joins the running stack once its program is built. */
  objectStore: ObjectStoreInfo;
  /** A container registry; it joins in the same way. */
  registry: RegistryInfo;
  /** What has not joined yet, by the names of its nodes: after the first start on a machine that is much. */
  pending: string[];
  metrics: { apiserver: string; operator: string };
  processes: Record<string, { pid: number; log: string }>;
  /** Access tokens, valid for 12 hours from the start. */
  tokens: Record<UserName, string>;
}

/** Pids and log files by name. */
export function describeProcesses(parts: readonly Part[]): StackInfo["processes"] {
  return Object.fromEntries(parts.map((part) => [part.name, { pid: part.pid, log: part.log }]));
}

/** Replaces the file atomically. */
export function writeStackInfo(file: string, info: StackInfo): void {
  const draft = `${file}.part`;
  writeFileSync(draft, `${JSON.stringify(info, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}
