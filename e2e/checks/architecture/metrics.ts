/** A metric as the source of a program declares it. */
interface DeclaredMetric {
  name: string;
  type: string;
  labels: string[];
}

/** What both programs have of shared code; controllers run in the operator alone. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  "shared/kube/metrics.ts": ["marina_apiserver", "marina_operator"],
  "shared/controller/metrics.ts": ["marina_operator"],
};

/**
 * The metrics that one file declares, with the prefixes of the programs that have them. Throws for one without a name.
 */
export function findMetrics(file: string, text: string): DeclaredMetric[] {
  const prefixes = SHARED[file] ?? [`marina_${file.split("/", 1)[0]}`];
  const shared = /labelNames = (\[.*?\])/.exec(text)?.[1];
  return [...text.matchAll(/new (Counter|Gauge|Histogram)\(\{([\s\S]*?)\bregisters\b/g)].flatMap(
    ({ 1: type = "", 2: body = "", index }) => {
      const list = /labelNames: (\[.*?\])/.exec(body)?.[1] ?? (/labelNames,/.test(body) ? shared : undefined);
      const labels = [...(list ?? "").matchAll(/"(\w+)"/g)].map(([, label = ""]) => label);
      const names = namesOf(text, body, index);
      if (names.length === 0) throw new Error(`${file} declares a metric without a name`);
      return names
        .flatMap((name) => prefixes.map((prefix) => name.replace(/^\$\{prefix\}/, prefix)))
        .filter((name, position, all) => all.indexOf(name) === position)
        .map((name) => ({ name, type: type.toLowerCase(), labels }));
    },
  );
}

/** A name is a text, a constant of the file, or made for each entry of a list that stands before, or after in calls. */
function namesOf(text: string, body: string, index: number): string[] {
  const written = /name: (["`])(.+?)\1/.exec(body)?.[2] ?? /const name = "(\w+)"/.exec(text)?.[1];
  if (written === undefined) return [];
  if (!written.endsWith(`\${name}`)) return [written];
  const before =
    text
      .slice(0, index)
      .split(/\bfunction\b/)
      .at(-1) ?? "";
  const listed = [...before.matchAll(/\bname: "(\w+)"/g)];
  const called = [...text.slice(index).matchAll(/\bgauge\(\s*"(\w+)"/g)];
  return (listed.length > 0 ? listed : called).map(([, name = ""]) => written.replace(`\${name}`, name));
}
