import { createPrivateKey, type KeyObject } from "node:crypto";
import { z } from "zod";

/** The container registry, and how the API server speaks to it. */
export interface RegistryConfig {
  /** Where the API server and the scanner reach it, without a path. */
  url: string;
  /** What tenants write before the name of an image: `<host>[:<port>]`. */
  host: string;
  /** The audience of its tokens. */
  service: string;
  /** Signs its tokens (ES256); the registry has the public key as a JWKS. */
  signingKey: KeyObject;
  /** The bearer credential of the registry's notifications; absent: none are taken, and a sweep finds what was pushed. */
  notificationToken: string | undefined;
  limits: RegistryLimits;
  scanner: ScannerConfig | undefined;
}

/** What an organization may have in the registry; undefined: any amount. */
export interface RegistryLimits {
  /** GiB of its images, each blob once. */
  sizeGiB: number | undefined;
  tags: number | undefined;
}

/** The scanner of images, grype, which runs beside the process with the role `scanner`. */
export interface ScannerConfig {
  /** Path of the program. */
  command: string;
  /** Folder of its vulnerability database. */
  databaseDir: string;
  /** Where the database is downloaded from periodically; absent: something else writes the folder. */
  databaseUrl: string | undefined;
  /** Folder of certificate authorities that the scanner trusts besides the public ones. */
  caDir: string | undefined;
  /** Scans at once of one process. */
  concurrency: number;
  /** Of one image. */
  timeoutSeconds: number;
  /** Resident memory of one scan. */
  memoryMiB: number;
  /** One image unpacked. */
  diskMiB: number;
}

const filled = z.string().min(1);
const megabytes = z.int().min(64).max(1_048_576);

/** The JSON of MARINA_REGISTRY. */
export const registrySchema = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/ })
      .transform((text) => new URL(text))
      .refine(
        ({ pathname, search, hash, username }) => `${pathname}${search}${hash}${username}` === "/",
        "must be an address without a path",
      )
      .transform(({ origin }) => origin),
    host: filled.optional(),
    service: filled.default("marina-registry"),
    signingKey: z.string().transform((pem, context): KeyObject => {
      const key = readEcKey(pem);
      if (key !== undefined) return key;
      context.addIssue({ code: "custom", message: "must be a private key of the curve P-256 in PEM" });
      return z.NEVER;
    }),
    notificationToken: z.string().min(16).optional(),
    limits: z
      .strictObject({
        sizeGiB: z.int().min(1).max(1_048_576).optional(),
        tags: z.int().min(1).max(1_000_000).optional(),
      })
      .default({})
      .transform(({ sizeGiB, tags }) => ({ sizeGiB, tags })),
    scanner: z
      .strictObject({
        command: filled.default("/usr/local/bin/grype"),
        databaseDir: filled.default("/var/lib/grype"),
        databaseUrl: z.url({ protocol: /^https?$/ }).optional(),
        caDir: filled.optional(),
        concurrency: z.int().min(1).max(64).default(2),
        timeoutSeconds: z.int().min(10).max(3600).default(600),
        memoryMiB: megabytes.default(2048),
        diskMiB: megabytes.default(20_480),
      })
      .transform(({ databaseUrl, caDir, ...scanner }) => ({ ...scanner, databaseUrl, caDir }))
      .optional(),
  })
  .transform(
    ({ host, notificationToken, scanner, ...registry }): RegistryConfig => ({
      ...registry,
      host: host ?? new URL(registry.url).host,
      notificationToken,
      scanner,
    }),
  );

function readEcKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : undefined;
  } catch {
    return undefined;
  }
}
