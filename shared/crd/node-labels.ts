/** Cluster API propagates these labels to Nodes in any case. */
const ALWAYS_PROPAGATED = /^node-role\.kubernetes\.io\//;

/** What Cluster API's core manager propagates beyond them without its flag --additional-sync-machine-labels. */
export const NO_OTHER_LABEL = /(?!)/;

/**
 * Whether Cluster API propagates a label of a pool to its nodes without configuration; others need the core manager's flag
 * --additional-sync-machine-labels. Source: "metadata propagation" in Cluster API's book.
 */
export function isAlwaysPropagated(label: string): boolean {
  return ALWAYS_PROPAGATED.test(label);
}
