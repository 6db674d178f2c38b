/** GOGC: on a machine with memory to spare, a higher value saves the programs a fifth of their processor time. */
const INHERITED = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "GOGC"];

/** `extra`, and nothing of this process's own environment but the variables of INHERITED. */
export function cleanEnvironment(extra: Record<string, string>): Record<string, string> {
  const inherited = INHERITED.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(inherited), ...extra };
}
