import type { ImageScan, ScanState, ScanVersion } from "../report.ts";
import type { RegistryClaims } from "../tokens/sign.ts";

/** Names of one page in ascending order, after `after`. */
export interface NamesRequest {
  after: string | undefined;
  limit: number;
}

export interface StoredManifest {
  digest: string;
  mediaType: string;
  /** The size of the manifest itself. */
  sizeBytes: number;
  /** As it is stored. */
  text: string;
  /** The JSON that it holds. */
  content: unknown;
}

/**
 * A registry of container images. Repositories are given with the prefix of their organization. Each method throws
 * BackendError when the registry does not do it.
 */
export interface RegistryBackend {
  /** This registry, whose requests end when the signal aborts, with 400 as the client has disconnected. */
  endingWith(signal: AbortSignal): RegistryBackend;
  /** Repositories that start with a prefix. */
  listRepositories(prefix: string, page: NamesRequest): Promise<string[]>;
  /** None for a repository that is not there. */
  listTags(repository: string, page: NamesRequest): Promise<string[]>;
  /** The digest that a tag names; undefined when there is none. */
  findDigest(repository: string, tag: string): Promise<string | undefined>;
  /** By tag or digest. */
  findManifest(repository: string, reference: string): Promise<StoredManifest | undefined>;
  /** Stored bytes of a blob; undefined when it is not there. */
  findBlobSize(repository: string, digest: string): Promise<number | undefined>;
  /** Removes a tag and nothing that another one names; false when it is not there. */
  deleteTag(repository: string, tag: string): Promise<boolean>;
  /** Removes a manifest with all its tags; false when it is not there. */
  deleteManifest(repository: string, digest: string): Promise<boolean>;
  /** A token of the registry with these rights, for about five minutes. */
  issueToken(claims: RegistryClaims): Promise<IssuedToken>;
  /** Scans of a registry that scans its images itself; else Marina's scanner does. */
  ownScans: OwnScans | undefined;
}

export interface IssuedToken {
  token: string;
  lifeSeconds: number;
}

/** The scans of a registry that has a scanner. */
export interface OwnScans {
  /** undefined when none was requested; while one is pending or runs, without the last report. */
  find(repository: string, digest: string): Promise<ImageScan | undefined>;
  /** As `find`, but does not read the report. */
  findVersion(repository: string, digest: string): Promise<ScanVersion | undefined>;
  /** Requests one, also of what was scanned before; one that is pending or runs goes on. Returns the state that it has then. */
  request(repository: string, digest: string): Promise<ScanState>;
}

export type BackendFault = "unreachable" | "timeout" | "refused" | "failed";

/** The registry cannot be used right now. */
export class BackendError extends Error {
  override readonly name = "BackendError";
  readonly fault: BackendFault;

  constructor(fault: BackendFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
