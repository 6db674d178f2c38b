import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import {
  createReport,
  MAX_REPORT_BYTES,
  MAX_TEXT_LENGTHS,
  MAX_VULNERABILITIES,
  mergeReport,
  parseGrypeOutput,
  type Vulnerability,
} from "./report.ts";

const aMatch = (severity: string, fields: object = {}) => ({
  vulnerability: { id: "CVE-1", severity, description: "Bad.", dataSource: "https://a.example", ...fields },
  artifact: { name: "openssl", version: "3.0" },
});
async function parseText(text: string, size = text.length): Promise<Vulnerability[]> {
  const bytes = Buffer.from(text);
  const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
    bytes.subarray(n * size, (n + 1) * size),
  );
  const found: Vulnerability[] = [];
  for await (const one of parseGrypeOutput(parts)) found.push(one);
  return found;
}
const parse = (...matches: object[]) => parseText(JSON.stringify({ matches }));

const aVulnerability = (ID: string, Severity: Vulnerability["Severity"], Package = "p"): Vulnerability => ({
  ID,
  Package,
  Version: "1",
  FixVersion: "",
  Severity,
  Description: "",
  Links: [],
});

describe("the output of grype", () => {
  test.each([
    ["Critical", "Critical"],
    ["high", "High"],
    ["Negligible", "Low"],
    ["Defcon1", "Unknown"],
    ["", "Unknown"],
  ])("with the severity %s is %s", async (given, expected) => {
    expect((await parse(aMatch(given))).map(({ Severity }) => Severity)).toEqual([expected]);
  });

  test("with no severity at all (None) is no vulnerability", async () => {
    expect(await parse(aMatch("None"))).toEqual([]);
  });

  test("names the first fix, each link once, and the package as it is in the image", async () => {
    const fields = { urls: ["https://b.example", "https://a.example"], fix: { versions: ["3.1", "4.0"] } };
    expect(await parse(aMatch("Low", fields))).toEqual([
      {
        ID: "CVE-1",
        Package: "openssl",
        Version: "3.0",
        FixVersion: "3.1",
        Severity: "Low",
        Description: "Bad.",
        Links: ["https://b.example", "https://a.example"],
      },
    ]);
  });

  test("has no longer texts than a scan result, whatever the image names its packages", async () => {
    const long = "é".repeat(5000);
    const match = aMatch("Low", {
      id: long,
      description: long,
      fix: { versions: [long] },
      urls: [`https://${long}`],
    });
    const [found] = await parse({ ...match, artifact: { name: long, version: long } });
    expect(found).toEqual({
      ID: long.slice(0, MAX_TEXT_LENGTHS.id),
      Package: long.slice(0, MAX_TEXT_LENGTHS.name),
      Version: long.slice(0, MAX_TEXT_LENGTHS.name),
      FixVersion: long.slice(0, MAX_TEXT_LENGTHS.name),
      Severity: "Low",
      Description: long.slice(0, MAX_TEXT_LENGTHS.description),
      Links: ["https://a.example"],
    });
  });

  test.each([1, 7, 1000])(
    "is the same in parts of %i bytes, whatever stands around its matches",
    async (size) => {
      const match = aMatch("Low", { description: 'é "}]" \\', related: [[{}], { deep: [{}] }] });
      const others = {
        a: "matches",
        ignoredMatches: [aMatch("High", { id: "ignored" })],
        b: { matches: [{}] },
      };
      const text = JSON.stringify({ ...others, matches: [match, match], last: ["]"] }, null, 1);
      const found = await parseText(text, size);
      expect(found.map(({ ID, Description }) => [ID, Description])).toEqual(
        Array(2).fill(["CVE-1", match.vulnerability.description]),
      );
    },
  );

  test.each([
    ["", "no whole report"],
    ["not JSON", "no whole report"],
    ["[]", "no whole report"],
    ["{}", "no whole report"],
    ['{"matches":{}}', "no whole report"],
    ['{"matches":[', "no whole report"],
    ['{"matches":[{}]}', "expected object"],
    ['{"matches":[{x}]}', "JSON"],
  ])("that is something else is refused: %s", async (text, message) => {
    await expect(parseText(text)).rejects.toThrow(message);
  });
});

describe("a report", () => {
  test("counts the same vulnerability of the same version of a package once, with its worst severity", () => {
    const found = [aVulnerability("A", "Low"), aVulnerability("A", "High"), aVulnerability("A", "High", "q")];
    const { summary, vulnerabilities } = mergeReport(found);
    expect(summary).toEqual({ Critical: 0, High: 2, Medium: 0, Low: 0, Unknown: 0 });
    expect(vulnerabilities).toHaveLength(2);
  });

  test("lists the worst first", () => {
    const found = (["Unknown", "Low", "Critical", "Medium", "High"] as const).map((severity, n) =>
      aVulnerability(String(n), severity),
    );
    expect(mergeReport(found).vulnerabilities.map(({ Severity }) => Severity)).toEqual([
      "Critical",
      "High",
      "Medium",
      "Low",
      "Unknown",
    ]);
  });

  test("of more than it lists counts all of them", () => {
    const found = Array.from({ length: MAX_VULNERABILITIES + 5 }, (_, n) => aVulnerability(String(n), "Low"));
    const { summary, vulnerabilities } = mergeReport(found);
    expect([summary.Low, vulnerabilities.length]).toEqual([MAX_VULNERABILITIES + 5, MAX_VULNERABILITIES]);
  });

  test("of long texts has the first of them in 8 MiB, and counts all of them", () => {
    const found = Array.from({ length: MAX_VULNERABILITIES }, (_, n) => ({
      ...aVulnerability(String(n), "Low"),
      Description: "é".repeat(MAX_TEXT_LENGTHS.description),
    }));
    const { summary, vulnerabilities } = mergeReport(found);
    const bytes = Buffer.byteLength(JSON.stringify(vulnerabilities));
    expect(bytes).toBeLessThan(MAX_REPORT_BYTES);
    expect(bytes).toBeGreaterThan(MAX_REPORT_BYTES - 5000);
    expect(summary.Low).toBe(MAX_VULNERABILITIES);
  });

  test("in progress keeps no more than twice what it lists, and is the same as one of all at once", async () => {
    setFlagsFromString("--expose-gc");
    const report = createReport();
    const long = () => ({ ...aVulnerability(createId(), "Low"), Description: createId().repeat(50) });
    const refs: WeakRef<Vulnerability>[] = [];
    const add = (found: Vulnerability) => {
      report.add(found);
      refs.push(new WeakRef(found));
    };
    for (let n = 0; n < 5 * MAX_VULNERABILITIES; n++) add(long());
    for (let n = 0; n < MAX_VULNERABILITIES; n++) add(aVulnerability(String(n), "Critical"));
    await new Promise(setImmediate);
    runInNewContext("gc")();
    expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThanOrEqual(
      2 * MAX_VULNERABILITIES,
    );
    const { summary, vulnerabilities } = report.toReport();
    expect(summary).toMatchObject({ Critical: MAX_VULNERABILITIES, Low: 5 * MAX_VULNERABILITIES });
    expect(new Set(vulnerabilities.map(({ Severity }) => Severity))).toEqual(new Set(["Critical"]));
    expect(vulnerabilities).toHaveLength(MAX_VULNERABILITIES);
  });
});
