import { z } from "zod";

const MAX_REASON_LENGTH = 200;
const FAILING = new Set(["high", "critical"]);

const reportShape = z.object({
  auditReportVersion: z.literal(2),
  vulnerabilities: z.record(z.string(), z.object({ severity: z.string() })),
});
const failureShape = z.object({ message: z.string() });

/**
 * What the output of `npm audit --json` says (npm's report of version 2). Vulnerabilities of severity high and critical
 * fail; output that is no report, as that of a registry without advisories, does not, and is named.
 */
export function judgeAudit(output: string): { message: string; failed: boolean } {
  const parsed = parseJson(output);
  const report = reportShape.safeParse(parsed);
  if (!report.success) {
    const reason = failureShape.safeParse(parsed).data?.message ?? "npm audit printed no report";
    return { message: `Not audited: ${reason.slice(0, MAX_REASON_LENGTH)}`, failed: false };
  }
  const found = Object.entries(report.data.vulnerabilities);
  const failing = found.filter(([, { severity }]) => FAILING.has(severity));
  if (failing.length > 0) {
    const names = failing.map(([name, { severity }]) => `${name} (${severity})`).join(", ");
    return { message: `Production dependencies with known vulnerabilities: ${names}`, failed: true };
  }
  return { message: `Audited: ${found.length} vulnerabilities, none high or critical`, failed: false };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
