import type { IdentityProviderSettings } from "../stack/identity.ts";
import type { Manifest } from "../stack/kube-api.ts";
import {
  DEVELOPMENT_NAMESPACE,
  IMAGES,
  ISSUER,
  type KindSettings,
  PLATFORM_NAMESPACE,
  PORTS,
} from "./settings.ts";

const IDENTITY_PORT = 8443;

/**
 * The namespaces, a Postgres with Marina's two roles, the identity provider of the local stack, and the Secrets of the
 * chart.
 */
export function composeDevelopmentObjects(settings: KindSettings): Manifest[] {
  return [
    namespace(DEVELOPMENT_NAMESPACE),
    namespace(PLATFORM_NAMESPACE),
    ...composePostgres(settings),
    ...composeIdentityProvider(settings),
    ...composeChartInputs(settings),
  ];
}

function namespace(name: string): Manifest {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

function secret(namespace: string, name: string, stringData: Record<string, string>): Manifest {
  return { apiVersion: "v1", kind: "Secret", metadata: { namespace, name }, stringData };
}

function composePostgres({ secrets }: KindSettings): Manifest[] {
  const roles = [
    `CREATE ROLE marina_owner LOGIN PASSWORD '${secrets.ownerPassword}';`,
    `CREATE ROLE marina_apiserver LOGIN PASSWORD '${secrets.apiserverPassword}';`,
    "CREATE DATABASE marina OWNER marina_owner;",
  ].join("\n");
  const metadata = { namespace: DEVELOPMENT_NAMESPACE, name: "postgres" };
  const claim: Manifest = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata,
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "2Gi" } } },
  };
  const container = {
    name: "postgres",
    image: IMAGES.postgres,
    ports: [{ name: "postgres", containerPort: 5432 }],
    env: [{ name: "POSTGRES_PASSWORD", valueFrom: { secretKeyRef: { name: "postgres", key: "password" } } }],
    readinessProbe: { exec: { command: ["pg_isready", "--host=127.0.0.1"] }, periodSeconds: 2 },
    volumeMounts: [
      { name: "data", mountPath: "/var/lib/postgresql" },
      { name: "roles", mountPath: "/docker-entrypoint-initdb.d", readOnly: true },
    ],
  };
  const volumes = [
    { name: "data", persistentVolumeClaim: { claimName: "postgres" } },
    { name: "roles", secret: { secretName: "postgres", items: [{ key: "roles.sql", path: "roles.sql" }] } },
  ];
  return [
    secret(DEVELOPMENT_NAMESPACE, "postgres", {
      password: secrets.postgresPassword,
      "roles.sql": `${roles}\n`,
    }),
    claim,
    deployment("postgres", { containers: [container], volumes }),
    service("postgres", { port: 5432, targetPort: "postgres" }),
  ];
}

function composeIdentityProvider({ secrets, certificates }: KindSettings): Manifest[] {
  const settings: IdentityProviderSettings = {
    issuer: ISSUER,
    port: IDENTITY_PORT,
    address: "0.0.0.0",
    tls: { certFile: "/settings/tls.crt", keyFile: "/settings/tls.key" },
    clientSecret: secrets.clientSecret,
    signingKey: secrets.signingKey,
  };
  const container = {
    name: "identity",
    image: IMAGES.node,
    command: ["node", "/checkout/e2e/platform/stack/identity-provider.ts", "/settings/settings.json"],
    ports: [{ name: "https", containerPort: IDENTITY_PORT }],
    readinessProbe: {
      httpGet: { path: "/.well-known/openid-configuration", port: "https", scheme: "HTTPS" },
      periodSeconds: 2,
    },
    volumeMounts: [
      { name: "checkout", mountPath: "/checkout", readOnly: true },
      { name: "settings", mountPath: "/settings", readOnly: true },
    ],
  };
  const volumes = [
    { name: "checkout", hostPath: { path: "/checkout", type: "Directory" } },
    { name: "settings", secret: { secretName: "identity" } },
  ];
  return [
    secret(DEVELOPMENT_NAMESPACE, "identity", {
      "settings.json": JSON.stringify(settings),
      "tls.crt": certificates.cert,
      "tls.key": certificates.key,
    }),
    deployment("identity", { containers: [container], volumes }),
    service("identity", { port: 443, targetPort: "https", nodePort: PORTS.identity.node }),
  ];
}

/**
 * What the values of the chart name: Secrets, the authority of the identity provider, and a port of the host for the
 * API.
 */
function composeChartInputs({ secrets, certificates }: KindSettings): Manifest[] {
  const address = (role: string, password: string) =>
    `postgres://${role}:${password}@postgres.${DEVELOPMENT_NAMESPACE}.svc/marina`;
  return [
    secret(PLATFORM_NAMESPACE, "marina-database", {
      url: address("marina_apiserver", secrets.apiserverPassword),
      ownerUrl: address("marina_owner", secrets.ownerPassword),
    }),
    secret(PLATFORM_NAMESPACE, "marina-webhook-keys", {
      keys: JSON.stringify([{ id: "first", key: secrets.webhookKey }]),
    }),
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: PLATFORM_NAMESPACE, name: "development-ca" },
      data: { "ca.crt": certificates.ca },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: PLATFORM_NAMESPACE, name: "api-of-this-host" },
      spec: {
        type: "NodePort",
        selector: { "app.kubernetes.io/name": "marina", "app.kubernetes.io/component": "apiserver" },
        ports: [{ name: "http", port: 80, targetPort: "http", nodePort: PORTS.api.node }],
      },
    },
  ];
}

function deployment(name: string, pod: object): Manifest {
  const labels = { "app.kubernetes.io/name": name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: DEVELOPMENT_NAMESPACE, name },
    spec: {
      replicas: 1,
      // One volume, which two Pods must not write.
      strategy: { type: "Recreate" },
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { automountServiceAccountToken: false, ...pod } },
    },
  };
}

function service(name: string, port: { port: number; targetPort: string; nodePort?: number }): Manifest {
  const type = port.nodePort === undefined ? {} : { type: "NodePort" };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: DEVELOPMENT_NAMESPACE, name },
    spec: { ...type, selector: { "app.kubernetes.io/name": name }, ports: [port] },
  };
}
