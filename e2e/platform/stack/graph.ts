/** A node that starts when all nodes in `after` are done. */
export interface Ordered {
  name: string;
  after: readonly string[];
}

function requireKnownNames(nodes: readonly Ordered[]): void {
  const names = new Set(nodes.map((node) => node.name));
  for (const node of nodes) {
    for (const name of node.after) {
      if (!names.has(name)) throw new Error(`${node.name} comes after ${name}, which is not in the table`);
    }
  }
}

async function walk<N extends Ordered>(
  nodes: readonly N[],
  waitsFor: (node: N) => readonly string[],
  visit: (node: N) => Promise<void>,
): Promise<void> {
  const done = new Map<string, Promise<void>>();
  const visitOnce = (node: N): Promise<void> => {
    const known = done.get(node.name);
    if (known !== undefined) return known;
    const before = nodes.filter((other) => waitsFor(node).includes(other.name));
    // Deferred, so that the map holds the promise before the recursion.
    const run = Promise.resolve()
      .then(() => Promise.all(before.map(visitOnce)))
      .then(() => visit(node));
    done.set(node.name, run);
    return run;
  };
  await Promise.all(nodes.map(visitOnce));
}

/**
 * Visits every node as soon as all nodes of its `after` are done; independent nodes run in parallel.
 * Rejects with the first error; nodes that wait for the failed one are never visited. The table must have no cycle.
 */
export async function visitInOrder<N extends Ordered>(
  nodes: readonly N[],
  visit: (node: N) => Promise<void>,
): Promise<void> {
  requireKnownNames(nodes);
  await walk(nodes, (node) => node.after, visit);
}

/** The reverse of `visitInOrder`: a node is visited when everything that comes after it is done. */
export async function visitInReverse<N extends Ordered>(
  nodes: readonly N[],
  visit: (node: N) => Promise<void>,
): Promise<void> {
  await walk(
    nodes,
    (node) => nodes.filter((other) => other.after.includes(node.name)).map((other) => other.name),
    visit,
  );
}

/**
 * Splits a table into what must be done before `goal` counts as reached, with everything that waits for nothing slow,
 * and the rest: the slow nodes that `goal` does not need, and all that come after one of them.
 */
export function splitTable<N extends Ordered>(
  nodes: readonly N[],
  goal: string,
  isSlow: (node: N) => boolean,
): { first: N[]; later: N[] } {
  requireKnownNames(nodes);
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const needed = new Set<string>();
  const need = (name: string): void => {
    if (needed.has(name)) return;
    needed.add(name);
    for (const before of byName.get(name)?.after ?? []) need(before);
  };
  if (!byName.has(goal)) return { first: [...nodes], later: [] };
  need(goal);
  const isLater = (node: N): boolean =>
    !needed.has(node.name) &&
    (isSlow(node) || nodes.some((other) => node.after.includes(other.name) && isLater(other)));
  return { first: nodes.filter((node) => !isLater(node)), later: nodes.filter(isLater) };
}
