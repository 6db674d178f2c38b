import { z } from "zod";

/** The severities of a scan result, the worst first. */
export const SEVERITIES = ["Critical", "High", "Medium", "Low", "Unknown"] as const;
type Severity = (typeof SEVERITIES)[number];

/** One vulnerability of one package in an image, as tenants see it. */
export interface Vulnerability {
  ID: string;
  Package: string;
  Version: string;
  /** Empty when no version is known that does not have it. */
  FixVersion: string;
  Severity: Severity;
  Description: string;
  Links: string[];
}

export type Summary = Record<Severity, number>;

/** What a scan of one digest found. */
export interface ScanReport {
  summary: Summary;
  /** The worst first; at most MAX_VULNERABILITIES in MAX_REPORT_BYTES, while `summary` counts all of them. */
  vulnerabilities: Vulnerability[];
}

/**
 * 5,000 with descriptions of the usual 300 characters are 3 MB of JSON; an image of a whole distribution has about
 * 1,000.
 */
export const MAX_VULNERABILITIES = 5000;
/** The bytes of the vulnerabilities in JSON: names and links come from the image and from whoever reported the vulnerability. */
export const MAX_REPORT_BYTES = 8_388_608;
/** The longest texts of a vulnerability, in UTF-16 code units. */
export const MAX_TEXT_LENGTHS = { id: 256, name: 512, description: 2000, link: 2048 } as const;
export const MAX_LINKS = 20;

const grypeOutput = z.object({
  matches: z.array(
    z.object({
      vulnerability: z.object({
        id: z.string(),
        severity: z.string().default(""),
        description: z.string().default(""),
        dataSource: z.string().default(""),
        urls: z.array(z.string()).nullish(),
        fix: z.object({ versions: z.array(z.string()).nullish() }).nullish(),
      }),
      artifact: z.object({ name: z.string(), version: z.string().default("") }),
    }),
  ),
});

/**
 * The vulnerabilities in the JSON that grype writes with `-o json`. Throws SyntaxError or ZodError for anything else.
 */
export function parseGrypeOutput(text: string): Vulnerability[] {
  return grypeOutput.parse(JSON.parse(text)).matches.flatMap(({ vulnerability, artifact }) => {
    const { id, severity, description, fix, urls, dataSource } = vulnerability;
    const { name, version } = artifact;
    return toVulnerability({
      id,
      package: name,
      version,
      fixVersion: fix?.versions?.[0] ?? "",
      severity,
      description,
      links: [...(urls ?? []), dataSource],
    });
  });
}

/** What a scanner says of one vulnerability; empty where it says nothing. */
interface FoundVulnerability {
  id: string;
  package: string;
  version: string;
  fixVersion: string;
  severity: string;
  description: string;
  links: readonly string[];
}

/** A vulnerability as tenants see it, with bounded texts; none for what is no vulnerability. */
export function toVulnerability(found: FoundVulnerability): Vulnerability[] {
  const severity = toSeverity(found.severity);
  if (severity === undefined) return [];
  return [
    {
      ID: cut(found.id, MAX_TEXT_LENGTHS.id),
      Package: cut(found.package, MAX_TEXT_LENGTHS.name),
      Version: cut(found.version, MAX_TEXT_LENGTHS.name),
      FixVersion: cut(found.fixVersion, MAX_TEXT_LENGTHS.name),
      Severity: severity,
      Description: cut(found.description, MAX_TEXT_LENGTHS.description),
      // One that is cut leads nowhere.
      Links: [...new Set(found.links)]
        .filter((link) => link !== "" && link.length <= MAX_TEXT_LENGTHS.link)
        .slice(0, MAX_LINKS),
    },
  ];
}

/**
 * One report of everything that was found in the images behind one digest. The same vulnerability of the same version
 * of a package counts once, with its worst severity.
 */
export function mergeReport(found: readonly Vulnerability[]): ScanReport {
  const distinct = new Map<string, Vulnerability>();
  for (const one of found) {
    const key = JSON.stringify([one.ID, one.Package, one.Version]);
    const known = distinct.get(key);
    if (known === undefined || rankOf(one) < rankOf(known)) distinct.set(key, one);
  }
  const all = [...distinct.values()].sort(
    (a, b) => rankOf(a) - rankOf(b) || compare(a.ID, b.ID) || compare(a.Package, b.Package),
  );
  const summary: Summary = { Critical: 0, High: 0, Medium: 0, Low: 0, Unknown: 0 };
  for (const { Severity } of all) summary[Severity]++;
  return { summary, vulnerabilities: takeWithin(all.slice(0, MAX_VULNERABILITIES)) };
}

/** As many of the first ones as MAX_REPORT_BYTES have room for. */
function takeWithin(all: readonly Vulnerability[]): Vulnerability[] {
  let bytes = 0;
  const end = all.findIndex((one) => {
    bytes += Buffer.byteLength(JSON.stringify(one)) + 1;
    return bytes > MAX_REPORT_BYTES;
  });
  return end === -1 ? [...all] : all.slice(0, end);
}

function cut(text: string, length: number): string {
  return text.slice(0, length).toWellFormed();
}

/** Negligible counts as Low; what is no vulnerability (None) is left out; every other word is Unknown. */
function toSeverity(text: string): Severity | undefined {
  const lower = text.toLowerCase();
  if (lower === "none") return undefined;
  if (lower === "negligible") return "Low";
  return SEVERITIES.find((severity) => severity.toLowerCase() === lower) ?? "Unknown";
}

function rankOf({ Severity }: Vulnerability): number {
  return SEVERITIES.indexOf(Severity);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The state of a scan; a digest without one has not been scanned. */
export type ScanState = "pending" | "running" | "success" | "error" | "unsupported";

/** What is known of the vulnerabilities of an image. */
export interface ImageScan {
  state: ScanState;
  /** When the last report was made; the three fields below are of that report too. */
  scannedAt: Date | null;
  /** Which database of vulnerabilities, or which scanner, it was made with. */
  databaseVersion: string | null;
  summary: Summary | null;
  vulnerabilities: Vulnerability[] | null;
}
