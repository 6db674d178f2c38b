import { readFileSync } from "node:fs";
import path from "node:path";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { createExecToken } from "./exec-token.ts";
import { createTokenFile } from "./token-file.ts";

/** Where an API server is and how to be somebody there. PEM texts, not paths. */
export interface KubeConnection {
  /** "https://host:port", optionally with a path prefix. */
  server: string;
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  /** The name to verify the serving certificate against, when it is not the host of `server`. */
  tlsServerName?: string | undefined;
  insecureSkipTlsVerify?: boolean | undefined;
  /** The bearer token, cached; `refresh` asks for a new one (after a 401). */
  token?: ((refresh?: boolean) => Promise<string>) | undefined;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * A kubeconfig file (its current context), or with no path the ServiceAccount of the Pod. Throws an Error that names
 * the file and what is wrong with it.
 */
export function loadConnection(kubeconfigPath: string | undefined): KubeConnection {
  if (kubeconfigPath !== undefined && kubeconfigPath !== "") {
    try {
      return parseKubeconfig(readFileSync(kubeconfigPath, "utf8"), path.dirname(kubeconfigPath));
    } catch (error) {
      throw new Error(`kubeconfig ${kubeconfigPath}: ${(error as Error).message}`, { cause: error });
    }
  }
  const token = createTokenFile(`${SERVICE_ACCOUNT}/token`);
  try {
    return {
      server: "https://kubernetes.default.svc",
      ca: readFileSync(`${SERVICE_ACCOUNT}/ca.crt`, "utf8"),
      token,
    };
  } catch (error) {
    throw new Error("no kubeconfig is given and this is no Pod with a ServiceAccount", { cause: error });
  }
}

const clusterSchema = z.object({
  server: z.url(),
  "certificate-authority": z.string().optional(),
  "certificate-authority-data": z.string().optional(),
  "tls-server-name": z.string().optional(),
  "insecure-skip-tls-verify": z.boolean().optional(),
  "proxy-url": z.undefined("proxy-url is not supported").optional(),
});

const userSchema = z.object({
  "client-certificate": z.string().optional(),
  "client-certificate-data": z.string().optional(),
  "client-key": z.string().optional(),
  "client-key-data": z.string().optional(),
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  exec: z
    .object({
      apiVersion: z.string(),
      command: z.string(),
      args: z.array(z.string()).nullish(),
      env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
    })
    .optional(),
  "auth-provider": z.undefined("auth-provider is not supported, use exec").optional(),
});

const kubeconfigSchema = z.object({
  "current-context": z.string().min(1),
  clusters: z.array(z.object({ name: z.string(), cluster: clusterSchema })),
  contexts: z.array(
    z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: z.string() }) }),
  ),
  users: z.array(z.object({ name: z.string(), user: userSchema.nullish() })),
});

/** The current context of a kubeconfig text. Relative file names are taken from `directory`. */
export function parseKubeconfig(text: string, directory = "."): KubeConnection {
  const parsed = kubeconfigSchema.safeParse(parseYaml(text));
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
  const config = parsed.data;
  const { context } = find(config.contexts, config["current-context"], "context");
  const { cluster } = find(config.clusters, context.cluster, "cluster");
  const user = find(config.users, context.user, "user").user ?? {};
  const pem = (data: string | undefined, file: string | undefined) => {
    if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
    return file === undefined ? undefined : readFileSync(path.resolve(directory, file), "utf8");
  };
  return {
    server: cluster.server.replace(/\/+$/, ""),
    ca: pem(cluster["certificate-authority-data"], cluster["certificate-authority"]),
    tlsServerName: cluster["tls-server-name"],
    insecureSkipTlsVerify: cluster["insecure-skip-tls-verify"],
    cert: pem(user["client-certificate-data"], user["client-certificate"]),
    key: pem(user["client-key-data"], user["client-key"]),
    token: toToken(user, directory),
  };
}

function toToken(user: z.infer<typeof userSchema>, directory: string): KubeConnection["token"] {
  const { token, tokenFile, exec } = user;
  if (tokenFile !== undefined) return createTokenFile(path.resolve(directory, tokenFile));
  if (token !== undefined) return () => Promise.resolve(token);
  return exec === undefined ? undefined : createExecToken(exec);
}

function find<T extends { name: string }>(entries: T[], name: string, what: string): T {
  const entry = entries.find((candidate) => candidate.name === name);
  if (entry === undefined) throw new Error(`there is no ${what} "${name}"`);
  return entry;
}
