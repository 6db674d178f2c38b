/** The packages of the catalogue, the smallest first (section 2.6 of the specification). */
export const PLANS = ["dev", "starter", "growth", "scale"] as const;

export type Plan = (typeof PLANS)[number];
