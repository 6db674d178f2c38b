/** A file of production code. */
export interface Source {
  file: string;
  text: string;
}

/** A file below this is better part of the one that uses it, unless it is a rule with a test of its own. */
const SMALL_LINES = 40;

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
    smallFiles: own.filter(({ text }) => text.split("\n").length - 1 < SMALL_LINES).length,
    repeatedBlocks: findRepeatedBlocks(own),
  };
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
