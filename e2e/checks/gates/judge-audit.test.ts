import { expect, test } from "vitest";
import { judgeAudit } from "./judge-audit.ts";

const report = (severities: Record<string, string>) =>
  JSON.stringify({
    auditReportVersion: 2,
    vulnerabilities: Object.fromEntries(
      Object.entries(severities).map(([name, severity]) => [name, { name, severity, via: [] }]),
    ),
  });

test.each([
  [
    "no vulnerability",
    report({}),
    { failed: false, message: "Audited: 0 vulnerabilities, none high or critical" },
  ],
  ["low and moderate", report({ a: "low", b: "moderate" }), { failed: false }],
  [
    "one high among others",
    report({ a: "low", b: "high" }),
    { failed: true, message: "Production dependencies with known vulnerabilities: b (high)" },
  ],
  ["critical", report({ a: "critical" }), { failed: true }],
  [
    "a registry without advisories",
    JSON.stringify({ message: "405 Method Not Allowed - POST /advisories/bulk", statusCode: 405 }),
    { failed: false, message: "Not audited: 405 Method Not Allowed - POST /advisories/bulk" },
  ],
  ["no output", "", { failed: false, message: "Not audited: npm audit printed no report" }],
])("%s", (_name, output, expected) => {
  expect(judgeAudit(output)).toMatchObject(expected);
});
