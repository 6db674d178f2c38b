/** The parts of each program: a name that two of its files export is two things for a reader, or one thing twice. */
const PROGRAMS = [
  ["apiserver", "shared"],
  ["operator", "shared"],
] as const;
const EXPORT =
  /^export (?:async )?(?:function\*?|const|let|class|abstract class|interface|type|enum) (\w+)/gm;

/** The names that more than one production file of a program exports, one line each. Re-exports do not count. */
export function findRepeatedExports(sources: readonly { file: string; text: string }[]): string[] {
  const lines = PROGRAMS.flatMap((parts) => {
    const own = sources.filter(({ file }) => parts.some((part) => file.startsWith(`${part}/`)));
    const exported = own.flatMap(({ file, text }) =>
      [...text.matchAll(EXPORT)].map(([, name]) => ({ file, name })),
    );
    return [...Map.groupBy(exported, ({ name }) => name)]
      .map(([name, places]) => ({ name, files: [...new Set(places.map(({ file }) => file))] }))
      .filter(({ files }) => files.length > 1)
      .map(({ name, files }) => `${name} is exported by ${files.join(" and ")}`);
  });
  return [...new Set(lines)];
}
