import type { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import path from "node:path";
import { TLSSocket } from "node:tls";
import { bufferFromFileOrString, KubeConfig, type User } from "@kubernetes/client-node";
import { Agent, buildConnector, type Dispatcher, ProxyAgent } from "undici";
import { parse as parseYaml } from "yaml";
import { sleep } from "../program/time.ts";

const CREDENTIALS_TIMEOUT_MS = 30_000;

/** Where an API server is and how to authenticate to it. PEM texts, not paths. */
export interface KubeConnection {
  /** "https://host:port", optionally with a path prefix. */
  server: string;
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  /** The name to verify the serving certificate against, when it is not the host of `server`. */
  tlsServerName?: string | undefined;
  insecureSkipTlsVerify?: boolean | undefined;
  /** The HTTP proxy in front of the API server. */
  proxyUrl?: string | undefined;
  /** The headers that authenticate a request, cached; `refresh` obtains new credentials (after a 401). */
  readHeaders?: ((refresh?: boolean) => Promise<Record<string, string>>) | undefined;
}

/**
 * The current context of a kubeconfig file, or with no path the ServiceAccount of the Pod. Throws an Error that names
 * the file and what is wrong with it.
 */
export function loadConnection(kubeconfigPath: string | undefined): KubeConnection {
  const load = kubeconfigPath ? () => loadKubeconfig(kubeconfigPath) : loadServiceAccount;
  try {
    return toConnection(load);
  } catch (error) {
    const { message } = error as Error;
    const source = kubeconfigPath
      ? `kubeconfig ${kubeconfigPath}`
      : "no kubeconfig is given and the ServiceAccount of a Pod cannot be used";
    throw new Error(`${source}: ${message}`, { cause: error });
  }
}

/**
 * client-node reads the configuration and obtains credentials; the transport, the watch and the reflector are our own.
 * Its informer stops at any error but 410, resolves its start when the first list failed, has no paging, and turns an
 * exception of a handler into an unhandled rejection; its calls have no deadline, no rate limit and no retry.
 */
function toConnection(load: () => KubeConfig): KubeConnection {
  const config = load();
  const context = config.getContextObject(config.getCurrentContext());
  if (context === null) throw new Error(`there is no context "${config.getCurrentContext()}"`);
  const cluster = config.getCluster(context.cluster);
  if (cluster === null) throw new Error(`there is no cluster "${context.cluster}"`);
  const user = config.getUser(context.user);
  if (user === null) throw new Error(`there is no user "${context.user}"`);
  if (!URL.canParse(cluster.server)) throw new Error(`the server "${cluster.server}" is not a URL`);
  return {
    server: cluster.server.replace(/\/+$/, ""),
    ca: readPem(cluster.caFile, cluster.caData),
    cert: readPem(user.certFile, user.certData),
    key: readPem(user.keyFile, user.keyData),
    tlsServerName: cluster.tlsServerName,
    insecureSkipTlsVerify: cluster.skipTLSVerify,
    proxyUrl: cluster.proxyUrl,
    readHeaders: hasHeaders(user) ? createHeaderReader(config, load) : undefined,
  };
}

function loadServiceAccount(): KubeConfig {
  const config = new KubeConfig();
  config.loadFromCluster();
  return config;
}

interface KubeconfigFile {
  users?: { user?: { token?: string; tokenFile?: string; exec?: ExecConfig; [field: string]: unknown } }[];
}

interface ExecConfig {
  apiVersion: string;
  env?: { name: string; value: string }[] | null;
}

/** Adds what client-node leaves out: `tokenFile`, and the variable that credential plugins of client-go are given. */
function loadKubeconfig(file: string): KubeConfig {
  const directory = path.dirname(file);
  const content: KubeconfigFile = parseYaml(readFileSync(file, "utf8"));
  for (const { user } of content.users ?? []) {
    if (user?.tokenFile !== undefined) {
      const tokenFile = path.resolve(directory, user.tokenFile);
      user["auth-provider"] = { name: "tokenFile", config: { tokenFile } };
      delete user.token;
    }
    if (user?.exec) {
      const { apiVersion } = user.exec;
      const info = { apiVersion, kind: "ExecCredential", spec: { interactive: false } };
      user.exec.env = [
        ...(user.exec.env ?? []),
        { name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(info) },
      ];
    }
  }
  const config = new KubeConfig();
  config.loadFromString(JSON.stringify(content));
  config.makePathsAbsolute(directory);
  return config;
}

function hasHeaders(user: User): boolean {
  return Boolean(user.token || user.exec || user.authProvider || user.impersonateUser);
}

/** Concurrent callers share one read. A refresh loads the configuration again, which drops every cached credential. */
function createHeaderReader(
  initial: KubeConfig,
  load: () => KubeConfig,
): (refresh?: boolean) => Promise<Record<string, string>> {
  let config = initial;
  let reading: Promise<Record<string, string>> | undefined;
  return (refresh = false) => {
    if (refresh) {
      config = load();
      reading = undefined;
    }
    reading ??= readHeaders(config).finally(() => {
      reading = undefined;
    });
    return reading;
  };
}

async function readHeaders(config: KubeConfig): Promise<Record<string, string>> {
  const options: RequestOptions = {};
  const finished = new AbortController();
  const applying = config.applyToHTTPSOptions(options).finally(() => finished.abort());
  const hasTimedOut = sleep(CREDENTIALS_TIMEOUT_MS, finished.signal);
  if (await Promise.race([applying.then(() => false), hasTimedOut]))
    throw new Error(`no credentials within ${CREDENTIALS_TIMEOUT_MS} ms`);
  await applying;
  const headers = Object.entries(options.headers ?? {}).map(([name, value]) => [name, String(value).trim()]);
  const user = config.getCurrentUser();
  if ((user?.exec || user?.authProvider) && !headers.some(([name]) => name === "Authorization")) {
    throw new Error(`the credential plugin of user "${user.name}" returned no token`);
  }
  return Object.fromEntries(headers);
}

function readPem(file: string | undefined, base64: string | undefined): string | undefined {
  return bufferFromFileOrString(file, base64)?.toString();
}

interface DispatcherOptions {
  connection: KubeConnection;
  /** A longer body of a response ends its request (default: no limit). */
  maxResponseBytes?: number | undefined;
  /** Called with the server's certificate after each TLS handshake; never through a proxy. */
  onCertificate?: ((certificate: X509Certificate) => void) | undefined;
}

/** The pool of connections to an API server. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { connection, maxResponseBytes = -1, onCertificate } = options;
  const pool = {
    allowH2: false,
    connections: 128,
    pipelining: 1,
    // Below the 90 s after which a Go server closes an idle connection.
    keepAliveTimeout: 30_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: maxResponseBytes,
  };
  const connect = {
    timeout: 10_000,
    rejectUnauthorized: connection.insecureSkipTlsVerify !== true,
    ...(connection.ca !== undefined && { ca: connection.ca }),
    ...(connection.cert !== undefined && { cert: connection.cert }),
    ...(connection.key !== undefined && { key: connection.key }),
    ...(connection.tlsServerName !== undefined && { servername: connection.tlsServerName }),
  };
  const { proxyUrl } = connection;
  if (proxyUrl !== undefined) return new ProxyAgent({ ...pool, uri: proxyUrl, requestTls: connect });
  if (onCertificate === undefined) return new Agent({ ...pool, connect });
  return new Agent({ ...pool, connect: observeCertificates(connect, onCertificate) });
}

function observeCertificates(
  connect: buildConnector.BuildOptions,
  onCertificate: (certificate: X509Certificate) => void,
): buildConnector.connector {
  const connector = buildConnector({ ...connect, allowH2: false });
  return (options, callback) =>
    connector(options, (...outcome) => {
      const [, socket] = outcome;
      const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
      if (certificate !== undefined) onCertificate(certificate);
      callback(...outcome);
    });
}
