import { createServerCertificate } from "../platform/stack/certificates.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { kubectl } from "../platform/stack/testing.ts";
import { readProgramEnvironment } from "./values.ts";

/** What the chart names a database of CloudNativePG, whose operator makes the objects below. */
export const DATABASE = "marina-database";
/** The Secret with the password of the API server's role, which an administrator makes. */
export const APISERVER_SECRET = "marina-apiserver-database";

/**
 * Answers for the stack's Postgres with a certificate for the name of the Service (SSLRequest of PostgreSQL's
 * protocol).
 */
const RELAY = `
const net = require("node:net"), tls = require("node:tls"), fs = require("node:fs");
const read = (name) => fs.readFileSync("/etc/tls/" + name);
const secureContext = tls.createSecureContext({ key: read("tls.key"), cert: read("tls.crt") });
net.createServer((socket) => {
  socket.on("error", () => socket.destroy());
  socket.once("data", () => {
    const secure = new tls.TLSSocket(socket, { isServer: true, secureContext });
    const upstream = net.connect(Number(process.env.UPSTREAM_PORT), "127.0.0.1");
    for (const [one, other] of [[secure, upstream], [upstream, secure]]) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
    socket.write("S");
  });
}).listen(5432, process.env.MARINA_LISTEN_ADDRESS);
`;

/**
 * The part of CloudNativePG's operator in front of the stack's Postgres, whose database and roles have the chart's
 * names.
 */
export interface PostgresOperator {
  /** What is there at once: the Service that leads to the primary, and the administrator's Secret. */
  begin(): Promise<void>;
  /** What is there when the database is: the Secrets of the owner and of the authority, and the primary. */
  finish(): Promise<void>;
}

export function playPostgresOperator(stack: StackInfo, namespace: string, image: string): PostgresOperator {
  const passwordOf = (url: string) => decodeURIComponent(new URL(url).password);
  const { MARINA_DATABASE_URL: apiserverUrl = "" } = readProgramEnvironment(stack, "apiserver");

  const secret = (name: string, stringData: Record<string, string>): object => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    stringData,
  });

  async function apply(...objects: object[]): Promise<void> {
    const stdin = objects.map((object) => JSON.stringify(object)).join("\n---\n");
    await kubectl(["apply", "--server-side", "--filename=-"], { stdin, stack });
  }

  const labels = { "cnpg.io/cluster": DATABASE };
  // One for all calls: the primary reads it when it starts.
  const certificate = createServerCertificate(`${DATABASE}-rw.${namespace}.svc`);
  return {
    begin: () =>
      apply(
        {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: `${DATABASE}-rw`, namespace },
          spec: { selector: labels, ports: [{ name: "postgres", port: 5432, targetPort: 5432 }] },
        },
        secret(APISERVER_SECRET, { username: "marina_apiserver", password: passwordOf(apiserverUrl) }),
      ),
    async finish() {
      const { ca, cert, key } = await certificate;
      const container = {
        name: "postgres",
        image,
        command: ["node", "--eval", RELAY],
        env: [{ name: "UPSTREAM_PORT", value: new URL(stack.databaseUrl).port }],
        ports: [{ name: "postgres", containerPort: 5432 }],
        volumeMounts: [{ name: "tls", mountPath: "/etc/tls" }],
      };
      await apply(
        secret(`${DATABASE}-ca`, { "ca.crt": ca }),
        secret(`${DATABASE}-server`, { "tls.crt": cert, "tls.key": key }),
        secret(`${DATABASE}-app`, { password: passwordOf(stack.databaseUrl) }),
        {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: `${DATABASE}-1`, namespace, labels },
          spec: {
            automountServiceAccountToken: false,
            containers: [container],
            volumes: [{ name: "tls", secret: { secretName: `${DATABASE}-server` } }],
          },
        },
      );
    },
  };
}
