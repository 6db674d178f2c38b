import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ObjectStoreInfo } from "./object-store.ts";
import type { RegistryInfo } from "./registry.ts";
import { AUDIENCE } from "./users.ts";

/** Source addresses of the programs of this machine, such as Cluster API and Marina. */
export const PLATFORM_CIDRS = ["127.0.0.1/32"];

/** The kubeconfig of each of Marina's programs. */
export interface ProgramKubeconfigs {
  apiserver: string;
  operator: string;
  /**
   * For integration tests, which run the programs' code and prepare what it meets: counted as a program, with every
   * right.
   */
  tests: string;
}

/** Environment variables of both programs on this stack, the same as in any deployment. */
export interface MarinaEnvironment {
  apiUrl: string;
  /** Where the API server has /metrics, /healthz and /readyz. */
  apiMetricsUrl: string;
  operatorUrl: string;
  /** Variables of the migrations, which run as the owner of the schema and grant rights to the API server's role. */
  migrate: { MARINA_DATABASE_URL: string; MARINA_DATABASE_APISERVER_ROLE: string };
  apiserver: Record<string, string>;
  operator: Record<string, string>;
}

/** The inputs of both environments. */
interface SharedInput {
  platformNamespace: string;
}

export interface OperatorEnvironmentInput extends SharedInput {
  kubeconfig: string;
  operatorPort: number;
  clusterClass: { namespace: string; name: string };
  /** Plans whose class is the one that takes no cluster (`nameRefusingClass`). */
  refusedPlans: readonly string[];
}

export interface EnvironmentInput extends Omit<OperatorEnvironmentInput, "kubeconfig"> {
  kubeconfigs: ProgramKubeconfigs;
  apiPort: number;
  apiMetricsPort: number;
  issuer: string;
  databaseUrls: { owner: string; apiserver: string };
  /** Encrypts the secrets of webhooks; 32 bytes in base64. */
  webhookKey: string;
  /** Certificates of the webhook receiver's issuer, in PEM. */
  caFile: string;
  /** Folder of the shared storage, which exists. */
  sharedStorage: string;
  objectStore: ObjectStoreInfo;
  registry: RegistryInfo;
  /** Extra variables; they take precedence. */
  apiserver: Record<string, string>;
  operator: Record<string, string>;
}

/** All tests and benchmarks of a stack use the same three users, much faster than people would. */
const PLENTY = { burst: 100_000, perMinute: 1_000_000 };
const GENEROUS_RATES = {
  default: PLENTY,
  user: PLENTY,
  organization: PLENTY,
  change: PLENTY,
  organization_creation: PLENTY,
  token_creation: PLENTY,
  invitation: PLENTY,
  kubeconfig: PLENTY,
  webhook_delivery: PLENTY,
  failed_login: PLENTY,
  anonymous: PLENTY,
};

/** One organization may hold a whole fleet here; the quota stories set their own limits. */
const GENEROUS_QUOTAS = {
  clusters: 20_000,
  nodePools: 50_000,
  nodes: 100_000,
  vcpus: 500_000,
  memoryGB: 1_000_000,
};

/** Benchmarks and fuzzing write more in a day than people do. */
const GENEROUS_TICKET_LIMITS = {
  openTickets: 1_000_000,
  ticketsPerDay: 1_000_000,
  messagesPerDay: 1_000_000,
  messagesPerTicket: 1_000_000,
  attachmentsPerDay: 1_000_000,
  attachmentsPerTicket: 1_000_000,
};

/** Who issues the invoices of the stack. */
const INVOICING = {
  supplier: {
    name: "Marina Cloud GmbH",
    street: "Hafen 1",
    postalCode: "20457",
    city: "Hamburg",
    country: "DE",
    vatId: "DE123456789",
    email: "billing@example.com",
  },
  vatRates: { DE: 19, AT: 20, FR: 20 },
};

/** The name of the class that takes no cluster, beside the one of a stack. */
export function nameRefusingClass(name: string): string {
  return `${name}-refusing`;
}

function plansFor({ clusterClass: { namespace, name }, refusedPlans }: OperatorEnvironmentInput): object {
  const plan = (controlPlaneReplicas: number): object => ({ class: name, namespace, controlPlaneReplicas });
  const plans = {
    default: plan(1),
    dev: plan(1),
    starter: plan(1),
    growth: plan(3),
    scale: plan(3),
    managed: plan(1),
    unsigned: plan(1),
    keyless: plan(1),
  };
  const refused = refusedPlans.map((slug) => [slug, { ...plan(1), class: nameRefusingClass(name) }]);
  return { ...plans, ...Object.fromEntries(refused) };
}

/** The environment of both programs. */
export function describeEnvironment(input: EnvironmentInput): MarinaEnvironment {
  const apiUrl = `http://127.0.0.1:${input.apiPort}`;
  const issuers = [{ issuer: input.issuer, audience: AUDIENCE, admin: true, trustEmail: true }];
  return {
    apiUrl,
    apiMetricsUrl: `http://127.0.0.1:${input.apiMetricsPort}`,
    operatorUrl: `http://127.0.0.1:${input.operatorPort}`,
    migrate: {
      MARINA_DATABASE_URL: input.databaseUrls.owner,
      MARINA_DATABASE_APISERVER_ROLE: new URL(input.databaseUrls.apiserver).username,
    },
    apiserver: {
      ...describeShared(input, input.kubeconfigs.apiserver),
      MARINA_SHUTDOWN_DELAY_SECONDS: "0.5",
      MARINA_PORT: String(input.apiPort),
      MARINA_METRICS_PORT: String(input.apiMetricsPort),
      MARINA_PUBLIC_URL: apiUrl,
      MARINA_DATABASE_URL: input.databaseUrls.apiserver,
      MARINA_OIDC_ISSUERS: JSON.stringify(issuers),
      MARINA_RATE_LIMITS: JSON.stringify(GENEROUS_RATES),
      MARINA_QUOTAS: JSON.stringify(GENEROUS_QUOTAS),
      MARINA_ORGANIZATIONS_PER_USER: "100000",
      MARINA_INVITATIONS_PER_USER: "100000",
      MARINA_IDEMPOTENCY_KEYS_PER_USER: "10000000",
      MARINA_TICKET_LIMITS: JSON.stringify(GENEROUS_TICKET_LIMITS),
      MARINA_WEBHOOK_KEYS: JSON.stringify([{ id: "stack", key: input.webhookKey }]),
      // The receiver of the stack listens there.
      MARINA_WEBHOOK_ALLOWED_ADDRESSES: "127.0.0.0/8,::1",
      MARINA_WEBHOOK_CA_FILE: input.caFile,
      MARINA_ATTACHMENT_STORE: JSON.stringify(input.objectStore),
      MARINA_REGISTRY: JSON.stringify(input.registry),
      MARINA_INVOICING: JSON.stringify(INVOICING),
      ...input.apiserver,
    },
    operator: {
      ...describeOperatorEnvironment({ ...input, kubeconfig: input.kubeconfigs.operator }),
      MARINA_STORAGE_DRIVER: "directory",
      MARINA_STORAGE_DIRECTORY: input.sharedStorage,
      // Figures follow the files within seconds.
      MARINA_STORAGE_INTERVAL_SECONDS: "5",
      ...input.operator,
    },
  };
}

/** The environment of an operator by itself, with or without the rest of a stack. */
export function describeOperatorEnvironment(input: OperatorEnvironmentInput): Record<string, string> {
  return {
    ...describeShared(input, input.kubeconfig),
    MARINA_METRICS_PORT: String(input.operatorPort),
    MARINA_PLANS: JSON.stringify(plansFor(input)),
    MARINA_PLATFORM_CIDRS: PLATFORM_CIDRS.join(","),
    // As the flag of Cluster API's core manager says (cluster-api.ts).
    MARINA_SYNCED_NODE_LABELS: ".*",
    // There is no kubelet to run it: the Deployment is created and never runs.
    MARINA_CLUSTER_AUTOSCALER_IMAGE: "cluster-autoscaler",
    MARINA_ARGO_CD_NAMESPACE: "argocd",
  };
}

function describeShared({ platformNamespace }: SharedInput, kubeconfig: string): Record<string, string> {
  return {
    KUBECONFIG: kubeconfig,
    MARINA_LISTEN_ADDRESS: "127.0.0.1",
    MARINA_PLATFORM_NAMESPACE: platformNamespace,
  };
}

function toEnvFile(variables: Record<string, string>): string {
  // Single quotes: the JSON in some values contains double quotes. `node --env-file` and shells accept both.
  return Object.entries(variables)
    .map(([name, value]) => `${name}='${value}'\n`)
    .join("");
}

/** Writes apiserver.env and operator.env, for `node --env-file=` by hand or in a debugger. */
export function writeEnvFiles(dir: string, environment: MarinaEnvironment): void {
  for (const [name, variables] of Object.entries({
    apiserver: environment.apiserver,
    operator: environment.operator,
    migrate: environment.migrate,
  })) {
    writeFileSync(join(dir, `${name}.env`), toEnvFile(variables), { mode: 0o600 });
  }
}
