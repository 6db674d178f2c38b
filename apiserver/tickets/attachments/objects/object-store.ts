import { AwsV4Signer } from "aws4fetch";
import type { AttachmentStorage } from "../config.ts";
import { createCredentials } from "./credentials.ts";
import { createStoreSender, StoreError, type StoreResponse } from "./http.ts";

/** What the bytes of an upload must be. */
export interface UploadTerms {
  contentType: string;
  sizeBytes: number;
  /** In hexadecimal digits. */
  sha256: string;
}

/** What the store says of an object. */
export interface StoredObject extends UploadTerms {
  etag: string;
}

/** The headers that an upload must send unchanged: the store verifies their signature. */
export interface UploadHeaders {
  "Content-Type": string;
  "Content-Length": string;
  "x-amz-checksum-sha256": string;
  "If-None-Match": "*";
}

/** A bucket of an S3-compatible store. Each method throws StoreError when the store does not do it. */
export interface ObjectStore {
  /** Throws StoreError unless the bucket is there and these credentials may use it. */
  requireBucket(): Promise<void>;
  /** An address that takes, until it ends and only once, exactly these bytes. */
  signUpload(
    key: string,
    terms: UploadTerms,
    expiresSeconds: number,
  ): Promise<{ url: string; headers: UploadHeaders }>;
  /** An address that gives an object as a download, never shown by a browser. */
  signDownload(key: string, contentDisposition: string, expiresSeconds: number): Promise<string>;
  /** Undefined for an object that is not there. */
  head(key: string): Promise<StoredObject | undefined>;
  /** Copies the version with this ETag; false when the object is not there or is another one by now. */
  copy(from: string, to: string, etag: string): Promise<boolean>;
  /** Does nothing where there is no such object. */
  remove(key: string): Promise<void>;
}

interface Signing {
  url: string;
  method: string;
  headers?: Record<string, string>;
  inQuery?: boolean;
}

/** The store that the configuration names. */
export function createObjectStore(storage: AttachmentStorage, now: () => Date): ObjectStore {
  const { region, bucket, caFile } = storage;
  const send = createStoreSender(caFile);
  const readCredentials = createCredentials(storage.credentials, send, now);
  const bucketUrl = urlOfBucket(storage);
  // 32 bytes for each day and pair of keys: to derive one takes four of the five hashes of a signature.
  const signingKeys = new Map<string, ArrayBuffer>();
  const urlOf = (key: string) => `${bucketUrl}/${key}`;

  const sign = async ({ url, method, headers = {}, inQuery = false }: Signing) => {
    const { sessionToken, ...keys } = await readCredentials();
    const signer = new AwsV4Signer({
      ...keys,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      method,
      url,
      headers,
      service: "s3",
      region,
      cache: signingKeys,
      signQuery: inQuery,
      // Without it the length and the type would be left unsigned.
      allHeaders: true,
    });
    return signer.sign();
  };
  const call = async (method: string, url: string, headers: Record<string, string> = {}) => {
    const signed = await sign({ url, method, headers });
    const response = await send({
      method,
      url: signed.url.href,
      headers: Object.fromEntries(signed.headers),
    });
    if (response.status === 403) throw new StoreError("refused", "the store refuses these credentials");
    return response;
  };
  const signUrl = async (method: string, url: URL, expiresSeconds: number, headers = {}): Promise<string> => {
    url.searchParams.set("X-Amz-Expires", String(expiresSeconds));
    const signed = await sign({ url: url.href, method, headers, inQuery: true });
    // A plus sign is a space only in forms; some stores take it literally.
    return signed.url.href.replaceAll("+", "%20");
  };

  return {
    async requireBucket() {
      const response = await call("HEAD", bucketUrl);
      if (response.status === 404)
        throw new StoreError("bucket_missing", `the bucket ${bucket} does not exist`);
      requireStatus(response, 200);
    },
    async signUpload(key, { contentType, sizeBytes, sha256 }, expiresSeconds) {
      const headers: UploadHeaders = {
        "Content-Type": contentType,
        "Content-Length": String(sizeBytes),
        "x-amz-checksum-sha256": Buffer.from(sha256, "hex").toString("base64"),
        "If-None-Match": "*",
      };
      return { url: await signUrl("PUT", new URL(urlOf(key)), expiresSeconds, headers), headers };
    },
    signDownload(key, contentDisposition, expiresSeconds) {
      const url = new URL(urlOf(key));
      url.searchParams.set("response-content-disposition", contentDisposition);
      url.searchParams.set("response-content-type", "application/octet-stream");
      url.searchParams.set("response-cache-control", "private, no-store");
      return signUrl("GET", url, expiresSeconds);
    },
    async head(key) {
      const response = await call("HEAD", urlOf(key), { "x-amz-checksum-mode": "ENABLED" });
      if (response.status === 404) return undefined;
      requireStatus(response, 200);
      const read = (name: string) => String(response.headers[name] ?? "");
      return {
        contentType: read("content-type"),
        sizeBytes: Number(read("content-length")),
        sha256: Buffer.from(read("x-amz-checksum-sha256"), "base64").toString("hex"),
        etag: read("etag"),
      };
    },
    async copy(from, to, etag) {
      const response = await call("PUT", urlOf(to), {
        "x-amz-copy-source": `/${bucket}/${from}`,
        "x-amz-copy-source-if-match": etag,
      });
      if (response.status === 404 || response.status === 412) return false;
      requireStatus(response, 200);
      // A copy that fails late is an error in the body of a 200 (CopyObject of the S3 API).
      if (response.text.includes("<CopyObjectResult")) return true;
      throw new StoreError("failed", "the store did not copy the object");
    },
    async remove(key) {
      const response = await call("DELETE", urlOf(key));
      if (response.status !== 404) requireStatus(response, 204);
    },
  };
}

function urlOfBucket({ endpoint, bucket, pathStyle }: AttachmentStorage): string {
  const url = new URL(endpoint);
  if (pathStyle) return `${url.origin}/${bucket}`;
  url.hostname = `${bucket}.${url.hostname}`;
  return url.origin;
}

function requireStatus({ status }: StoreResponse, expected: number): void {
  if (status === expected) return;
  throw new StoreError(status >= 500 ? "failed" : "refused", `the store responded with the status ${status}`);
}
