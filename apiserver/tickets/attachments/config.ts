import { z } from "zod";
import { jsonText } from "../../../shared/program/config.ts";

/** Keys of an account of the store. */
export interface StaticCredentials {
  accessKeyId: string;
  secretAccessKey: string;
}

/** A role that is taken by a token in a file, such as that of a ServiceAccount (AssumeRoleWithWebIdentity). */
export interface WebIdentity {
  tokenFile: string;
  roleArn: string;
  /** The endpoint of the security token service. */
  stsEndpoint: string;
}

/** Where the attachments of tickets are: a bucket of an S3-compatible store. */
export interface AttachmentStorage {
  /** Without a path. Clients upload and download there. */
  endpoint: string;
  region: string;
  bucket: string;
  /** The bucket is the first part of the path, not of the host name. */
  pathStyle: boolean;
  credentials: StaticCredentials | WebIdentity;
  /** Certificates in PEM of authorities that are trusted besides the public ones. */
  caFile?: string | undefined;
}

const filled = z.string().min(1);
const endpointSchema = z
  .url({ protocol: /^https?$/ })
  .transform((text) => new URL(text))
  .refine(
    ({ pathname, search, hash, username }) => `${pathname}${search}${hash}${username}` === "/",
    "must be an address without a path",
  )
  .transform(({ origin }) => origin);

/** The JSON of MARINA_ATTACHMENT_STORE. */
export const attachmentStorageSchema = z
  .strictObject({
    endpoint: endpointSchema,
    region: filled.default("us-east-1"),
    bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be the name of a bucket"),
    pathStyle: z.boolean().default(false),
    accessKeyId: filled.optional(),
    secretAccessKey: filled.optional(),
    webIdentity: z
      .strictObject({
        tokenFile: filled,
        roleArn: filled,
        stsEndpoint: endpointSchema.default("https://sts.amazonaws.com"),
      })
      .optional(),
    caFile: filled.optional(),
  })
  .transform(({ accessKeyId, secretAccessKey, webIdentity, ...storage }, context): AttachmentStorage => {
    if (webIdentity !== undefined && accessKeyId === undefined && secretAccessKey === undefined)
      return { ...storage, credentials: webIdentity };
    if (webIdentity === undefined && accessKeyId !== undefined && secretAccessKey !== undefined)
      return { ...storage, credentials: { accessKeyId, secretAccessKey } };
    context.addIssue({
      code: "custom",
      message: "needs either accessKeyId and secretAccessKey, or webIdentity",
    });
    return z.NEVER;
  });

/** Where the attachments of tickets are; absent: there are none. */
export const attachmentVariables = z
  .object({ MARINA_ATTACHMENT_STORE: jsonText(attachmentStorageSchema).optional() })
  .transform((env) => ({ attachmentStorage: env.MARINA_ATTACHMENT_STORE }));
