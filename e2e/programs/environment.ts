const INHERITED = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"];

/** `extra`, and nothing of this process's own environment but PATH, HOME, LANG, TZ and TMPDIR. */
export function cleanEnvironment(extra: Record<string, string>): Record<string, string> {
  const inherited = INHERITED.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(inherited), ...extra };
}
