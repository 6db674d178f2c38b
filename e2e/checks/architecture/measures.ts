/** A file of production code. */
export interface Source {
  file: string;
  text: string;
}

/** A file below this is better part of the one that uses it, unless it is a rule with a test of its own. */
const SMALL_LINES = 40;

/** Names of files of which a folder has one, however short it is. */
const CONVENTIONAL =
  /(^|\/)(.+-)?(main|config|schema|table|store|changes|present|routes|jobs|index|reconcile|controller)\.ts$/;

/** Lines in a row that two places must not share: what stands twice is changed once only. */
const BLOCK_LINES = 12;

export interface Measures {
  files: Readonly<Record<string, number>>;
  /** Files with fewer than 40 lines. */
  smallFiles: number;
  /** Where 12 lines or more, imports, comments and blank lines aside, stand a second time, with the first place. */
  repeatedBlocks: string[];
}

/** Measures the production code of these programs. */
export function measure(sources: readonly Source[], programs: readonly string[]): Measures {
  const own = sources.filter(({ file }) => programs.some((program) => file.startsWith(`${program}/`)));
  const filesOf = (program: string) => own.filter(({ file }) => file.startsWith(`${program}/`)).length;
  return {
    files: Object.fromEntries(programs.map((program) => [program, filesOf(program)])),
    smallFiles: own.filter(({ text }) => isSmall(text)).length,
    repeatedBlocks: findRepeatedBlocks(own),
  };
}

/** Small files that one other file uses, without a conventional name and without a test of their own: a part of their user. */
export function findHelperFiles(
  sources: readonly Source[],
  usersOf: (file: string) => readonly string[],
  hasTest: (file: string) => boolean,
): string[] {
  return sources
    .filter(({ file, text }) => isSmall(text) && !CONVENTIONAL.test(file) && !hasTest(file))
    .filter(({ file }) => new Set(usersOf(file)).size < 2)
    .map(({ file }) => file);
}

function isSmall(text: string): boolean {
  return text.split("\n").length - 1 < SMALL_LINES;
}

function findRepeatedBlocks(sources: readonly Source[]): string[] {
  const firstPlaces = new Map<string, string>();
  return sources.flatMap((source) => {
    const lines = linesOf(source);
    let last = -2;
    return lines.slice(BLOCK_LINES - 1).flatMap((_, index) => {
      const block = lines.slice(index, index + BLOCK_LINES);
      const key = block.map(({ text }) => text).join("\n");
      const place = `${source.file}:${block[0]?.line}`;
      const first = firstPlaces.get(key);
      if (first === undefined) {
        firstPlaces.set(key, place);
        return [];
      }
      // The next line of a longer block, which is reported once.
      const isGoingOn = index === last + 1;
      last = index;
      return isGoingOn ? [] : [`${place} repeats ${first}`];
    });
  });
}

function linesOf({ text }: Source): { text: string; line: number }[] {
  return text
    .replaceAll(/^import [^;]*;$/gm, (statement) => statement.replaceAll(/[^\n]/g, ""))
    .split("\n")
    .map((line, index) => ({ text: line.trim(), line: index + 1 }))
    .filter(({ text: line }) => line !== "" && !/^(\/\/|\/?\*)/.test(line));
}
