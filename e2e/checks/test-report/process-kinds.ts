/** The kind of a process without a command line: one that has ended. */
export const UNKNOWN_KIND = "unknown";

/**
 * What a process of a test run is, by its command line (arguments separated by spaces), for a table of processor time.
 */
export function kindOfProcess(commandLine: string): string {
  for (const [pattern, kind] of KINDS) if (pattern.test(commandLine)) return kind;
  const program = commandLine.split(" ", 1)[0] ?? "";
  return program.slice(program.lastIndexOf("/") + 1) || UNKNOWN_KIND;
}

// The first that matches counts; the paths of its files distinguish a tenant's program from one of the management
// cluster.
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/\/vitest\/dist\/workers\//, "test workers"],
  [/\/vitest(\.mjs)?\b/, "test runner"],
  [/^\S*kube-apiserver\S* .*--etcd-prefix=\/tenants\//, "tenants: kube-apiserver"],
  [/^\S*kube-controller-manager .*\/tenants\//, "tenants: kube-controller-manager"],
  [/^\S*kube-scheduler .*\/tenants\//, "tenants: kube-scheduler"],
  [/^\S*kwok /, "tenants: kwok"],
  [/^\S*kube-apiserver /, "management: kube-apiserver"],
  [/^\S*kube-controller-manager /, "management: kube-controller-manager"],
  [/^\S*etcd /, "management: etcd"],
  [/^\S*capi-/, "management: Cluster API"],
  [/\blocal-provider\/front\/main\.ts/, "local provider: front"],
  [/\blocal-provider\/main\.ts/, "local provider"],
  [/\bapiserver(\.js|\/main\.ts)/, "API server"],
  [/\boperator(\.js|\/main\.ts)/, "operator"],
  [/\bmigrate(\.js|\.ts)/, "migrations"],
  [/\b(identity-provider|webhook-receiver|postgres-server)\.ts/, "other servers of the stack"],
  [/^(\S*\/)?postgres\b/, "Postgres"],
  [/^\S*(registry|versitygw|grype|crane)\b/, "registry, scanner, object store"],
  [/\/esbuild\b/, "esbuild"],
  [/^\S*\/(compile|link|asm|cgo|vet) |^(\S*\/)?go /, "Go builds"],
  [/^\S*chrom(e|ium)/, "browser"],
  [/\bjava /, "Java"],
];
