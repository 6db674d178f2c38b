import { createPrivateKey, type KeyObject } from "node:crypto";
import { z } from "zod";
import { jsonText } from "../../shared/program/config.ts";

/** The container registry, and how the API server speaks to it. */
export type RegistryConfig = DistributionConfig | HarborConfig;

interface SharedConfig {
  /** Where the API server and the scanner reach it, without a path. */
  url: string;
  /** What tenants write before the name of an image: `<host>[:<port>]`. */
  host: string;
  limits: RegistryLimits;
}

/** The CNCF registry `distribution`, whose images Marina's own scanner reads. */
export interface DistributionConfig extends SharedConfig {
  kind: "distribution";
  /** The audience of its tokens. */
  service: string;
  /** Signs its tokens (ES256); the registry has the public key as a JWKS. */
  signingKey: KeyObject;
  /**
   * The bearer credential of the registry's notifications; absent: none are taken, and a sweep finds what was pushed.
   */
  notificationToken: string | undefined;
  scanner: ScannerConfig | undefined;
}

/** Harbor, which signs its own tokens and scans its images itself. */
export interface HarborConfig extends SharedConfig {
  kind: "harbor";
  /** A robot account of the system, with all projects. */
  username: string;
  password: string;
}

/** What an organization may have in the registry; undefined: any amount. */
export interface RegistryLimits {
  /** GiB of its images, each blob once. */
  sizeGiB: number | undefined;
  tags: number | undefined;
}

/** The image scanner, grype, a child process of the process with the role `scanner`, or in a separate container. */
export interface ScannerConfig {
  /** The Unix socket of that container; absent: a child process. */
  socket: string | undefined;
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
  /** For the scan of one image. */
  timeoutSeconds: number;
  /** Resident memory of one scan. */
  memoryMiB: number;
  /** One image unpacked. */
  diskMiB: number;
}

const filled = z.string().min(1);
const megabytes = z.int().min(64).max(1_048_576);

const shared = {
  url: z
    .url({ protocol: /^https?$/ })
    .transform((text) => new URL(text))
    .refine(
      ({ pathname, search, hash, username }) => `${pathname}${search}${hash}${username}` === "/",
      "must be an address without a path",
    )
    .transform(({ origin }) => origin),
  host: filled.optional(),
  limits: z
    .strictObject({
      sizeGiB: z.int().min(1).max(1_048_576).optional(),
      tags: z.int().min(1).max(1_000_000).optional(),
    })
    .default({})
    .transform(({ sizeGiB, tags }) => ({ sizeGiB, tags })),
};

const scannerSchema = z
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
  .transform(({ databaseUrl, caDir, ...scanner }) => ({
    ...scanner,
    databaseUrl,
    caDir,
    socket: undefined as string | undefined,
  }));

const distributionSchema = z.strictObject({
  kind: z.literal("distribution"),
  ...shared,
  service: filled.default("marina-registry"),
  signingKey: z.string().transform((pem, context): KeyObject => {
    const key = readEcKey(pem);
    if (key !== undefined) return key;
    context.addIssue({ code: "custom", message: "must be a private key of the curve P-256 in PEM" });
    return z.NEVER;
  }),
  notificationToken: z.string().min(16).optional(),
  scanner: scannerSchema.optional(),
});

const harborSchema = z.strictObject({
  kind: z.literal("harbor"),
  ...shared,
  username: filled,
  password: filled,
});

/** The JSON of MARINA_REGISTRY; without a kind it is `distribution`. */
export const registrySchema = z
  .preprocess(
    (given) =>
      typeof given === "object" && given !== null && !("kind" in given)
        ? { ...given, kind: "distribution" }
        : given,
    z.discriminatedUnion("kind", [distributionSchema, harborSchema]),
  )
  .transform((given): RegistryConfig => {
    const host = given.host ?? new URL(given.url).host;
    if (given.kind === "harbor") return { ...given, host };
    const { notificationToken, scanner, ...registry } = given;
    return { ...registry, host, notificationToken, scanner };
  });

function readEcKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** The container registry; absent: its operations respond with 503. */
export const registryVariables = z
  .object({
    MARINA_REGISTRY: jsonText(registrySchema).optional(),
    MARINA_SCANNER_SOCKET: filled.optional(),
  })
  .transform((env) => ({ registry: withSocket(env.MARINA_REGISTRY, env.MARINA_SCANNER_SOCKET) }));

function withSocket(
  registry: RegistryConfig | undefined,
  socket: string | undefined,
): RegistryConfig | undefined {
  if (registry?.kind !== "distribution" || registry.scanner === undefined) return registry;
  return { ...registry, scanner: { ...registry.scanner, socket } };
}
