/** The packages of the catalogue, the smallest first (section 2.6 of the specification). */
export const PACKAGE_SLUGS = ["dev", "starter", "growth", "scale"] as const;

export type PackageSlug = (typeof PACKAGE_SLUGS)[number];
