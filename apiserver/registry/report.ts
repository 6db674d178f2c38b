import { hash } from "node:crypto";
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

const grypeMatch = z.object({
  vulnerability: z.object({
    id: z.string(),
    severity: z.string().default(""),
    description: z.string().default(""),
    dataSource: z.string().default(""),
    urls: z.array(z.string()).nullish(),
    fix: z.object({ versions: z.array(z.string()).nullish() }).nullish(),
  }),
  artifact: z.object({ name: z.string(), version: z.string().default("") }),
});

/**
 * The vulnerabilities in the JSON that grype writes with `-o json`, each match parsed alone: as one value the largest report takes more
 * memory than the program has. Throws SyntaxError or ZodError for anything else.
 */
export async function* parseGrypeOutput(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Vulnerability> {
  const matches = createMatchReader();
  for await (const chunk of chunks)
    for (const match of matches.read(chunk)) {
      const { vulnerability, artifact } = grypeMatch.parse(JSON.parse(match));
      const { id, severity, description, fix, urls, dataSource } = vulnerability;
      const { name, version } = artifact;
      yield* toVulnerability({
        id,
        package: name,
        version,
        fixVersion: fix?.versions?.[0] ?? "",
        severity,
        description,
        links: [...(urls ?? []), dataSource],
      });
    }
  if (!matches.isWhole()) throw new SyntaxError("this is no whole report of grype");
}

const [QUOTE, BACKSLASH, BRACKET] = [0x22, 0x5c, 0x5b];
const OPENING: ReadonlySet<number> = new Set([0x7b, BRACKET]);
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x5d]);
const MATCHES = 'matches"';

/** Finds the objects in the array `matches` at the top of a JSON object, which arrives in parts. */
function createMatchReader() {
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  /** The last text at the top, with the quote at its end. */
  let name = "";
  let isInMatches = false;
  let hadMatches = false;
  let parts: Uint8Array[] | undefined;

  function readText(byte: number): void {
    if (depth === 1 && name.length <= MATCHES.length) name += String.fromCharCode(byte);
    isText = isEscaped || byte !== QUOTE;
    isEscaped = !isEscaped && byte === BACKSLASH;
  }

  return {
    /** The JSON of each match that ends in this part. */
    *read(chunk: Uint8Array): Generator<string> {
      let start = 0;
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at] ?? 0;
        if (isText) readText(byte);
        else if (byte === QUOTE) {
          isText = true;
          if (depth === 1) name = "";
        } else if (OPENING.has(byte)) {
          depth += 1;
          if (depth === 2) isInMatches = byte === BRACKET && name === MATCHES;
          hadMatches ||= isInMatches;
          if (depth !== 3 || !isInMatches) continue;
          parts = [];
          start = at;
        } else if (CLOSING.has(byte)) {
          depth -= 1;
          if (depth !== 2 || parts === undefined) continue;
          yield Buffer.concat([...parts, chunk.subarray(start, at + 1)]).toString();
          parts = undefined;
        }
      }
      parts?.push(chunk.subarray(start));
    },
    /** Whether the object has ended, and had that array. */
    isWhole: () => hadMatches && depth === 0 && !isText,
  };
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

/** So many distinct ones are told apart in one report; beyond, each that is found counts. A whole distribution has some 10,000. */
const MAX_DISTINCT = 100_000;

/** A report that is being made of what is found in the images behind one digest. */
export interface ReportInProgress {
  /**
   * Each vulnerability of a version of a package counts once, with its worst severity. However much is added, no more is kept than
   * twice what a report lists.
   */
  add(found: Vulnerability): void;
  toReport(): ScanReport;
}

/** Begins a report. */
export function createReport(): ReportInProgress {
  const summary: Summary = { Critical: 0, High: 0, Medium: 0, Low: 0, Unknown: 0 };
  const severities = new Map<string, Severity>();
  let listed = new Map<string, { found: Vulnerability; bytes: number }>();
  let listedBytes = 0;

  function keepListed(): void {
    const worstFirst = [...listed].sort(([, one], [, other]) => compareFound(one.found, other.found));
    listed = new Map();
    listedBytes = 0;
    for (const [key, one] of worstFirst.slice(0, MAX_VULNERABILITIES)) {
      if (listedBytes + one.bytes > MAX_REPORT_BYTES) return;
      listed.set(key, one);
      listedBytes += one.bytes;
    }
  }

  return {
    add(found) {
      const key = hash("sha256", JSON.stringify([found.ID, found.Package, found.Version]), "base64");
      const known = severities.get(key) ?? listed.get(key)?.found.Severity;
      if (known !== undefined) {
        if (rankOf(known) <= rankOf(found.Severity)) return;
        summary[known] -= 1;
      }
      summary[found.Severity] += 1;
      if (severities.has(key) || severities.size < MAX_DISTINCT) severities.set(key, found.Severity);
      const bytes = Buffer.byteLength(JSON.stringify(found)) + 1;
      listedBytes += bytes - (listed.get(key)?.bytes ?? 0);
      listed.set(key, { found, bytes });
      if (listed.size > 2 * MAX_VULNERABILITIES || listedBytes > 2 * MAX_REPORT_BYTES) keepListed();
    },
    toReport() {
      keepListed();
      return { summary: { ...summary }, vulnerabilities: [...listed.values()].map(({ found }) => found) };
    },
  };
}

/** One report of everything that was found in the images behind one digest. */
export function mergeReport(found: Iterable<Vulnerability>): ScanReport {
  const report = createReport();
  for (const one of found) report.add(one);
  return report.toReport();
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

function rankOf(severity: Severity): number {
  return SEVERITIES.indexOf(severity);
}

function compareFound(one: Vulnerability, other: Vulnerability): number {
  return (
    rankOf(one.Severity) - rankOf(other.Severity) ||
    compare(one.ID, other.ID) ||
    compare(one.Package, other.Package)
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The state of a scan; a digest without one has not been scanned. */
export type ScanState = "pending" | "running" | "success" | "error" | "unsupported";

/** By what one result of a scan differs from the next. */
export interface ScanVersion {
  state: ScanState;
  /** When the last report was made, of which the fields below are too. */
  scannedAt: Date | null;
  /** Which database of vulnerabilities, or which scanner, it was made with. */
  databaseVersion: string | null;
}

/** What a scan came to, without the vulnerabilities. */
export interface ScanSummary extends ScanVersion {
  summary: Summary | null;
}

/** What is known of the vulnerabilities of an image. */
export interface ImageScan extends ScanSummary {
  /** Null also where they gave way to those of other images of the organization. */
  vulnerabilities: Vulnerability[] | null;
}
