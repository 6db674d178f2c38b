import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import type { StackInfo } from "../platform/stack/stack-info.ts";

export type Values = Record<string, unknown>;
type Environment = Record<string, string>;

/** The environment that the stack would give to one of its programs. */
export function readProgramEnvironment(
  { kubeconfig }: Pick<StackInfo, "kubeconfig">,
  program: string,
): Environment {
  return parseEnv(readFileSync(join(dirname(kubeconfig), `${program}.env`), "utf8")) as Environment;
}

/** The values that cannot be guessed. */
export function requiredValues(stack: StackInfo): Values {
  const { MARINA_OIDC_ISSUERS = "" } = readProgramEnvironment(stack, "apiserver");
  return {
    host: "api.marina.test",
    image: { repository: "marina/marina" },
    database: { existingSecret: "marina-database" },
    oidc: { issuers: JSON.parse(MARINA_OIDC_ISSUERS) },
  };
}

/**
 * The required values and what the stories need, as in a stack: plans, versions, webhooks to this machine, and high
 * limits.
 */
export function storyValues(stack: StackInfo): Values {
  const apiserver = readProgramEnvironment(stack, "apiserver");
  const operator = readProgramEnvironment(stack, "operator");
  // The previous version, which is installed with them too, refuses a class that it does not know.
  const { anonymous: _, change: __, ...rates } = JSON.parse(apiserver.MARINA_RATE_LIMITS ?? "{}");
  const copied = ["MARINA_QUOTAS", "MARINA_ORGANIZATIONS_PER_USER", "MARINA_WEBHOOK_ALLOWED_ADDRESSES"];
  const trusted = { name: "receiver-ca", mountPath: "/etc/receiver" };
  return {
    ...requiredValues(stack),
    plans: JSON.parse(operator.MARINA_PLANS ?? ""),
    kubernetesVersions: ["1.33.6", "1.34.2", "1.35.1"].map((version) => ({ version, status: "supported" })),
    networks: { platform: operator.MARINA_PLATFORM_CIDRS?.split(",") },
    webhooks: { existingSecret: "marina-webhook-keys" },
    apiserver: {
      extraEnv: [
        { name: "MARINA_RATE_LIMITS", value: JSON.stringify(rates) },
        ...copied.map((name) => ({ name, value: apiserver[name] })),
        { name: "MARINA_WEBHOOK_CA_FILE", value: `${trusted.mountPath}/ca.crt` },
      ],
      extraVolumes: [{ name: trusted.name, configMap: { name: trusted.name } }],
      extraVolumeMounts: [trusted],
    },
  };
}

/** The objects in the release's namespace that the values name. */
export function namedObjects(stack: StackInfo, namespace: string): object[] {
  const { MARINA_DATABASE_URL: url, MARINA_WEBHOOK_KEYS: keys } = readProgramEnvironment(stack, "apiserver");
  const secret = (name: string, stringData: Record<string, string | undefined>): object => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    stringData,
  });
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    secret("marina-database", { url, ownerUrl: stack.databaseUrl }),
    secret("marina-webhook-keys", { keys }),
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "receiver-ca", namespace },
      data: { "ca.crt": readFileSync(stack.webhookReceiver.caFile, "utf8") },
    },
  ];
}
