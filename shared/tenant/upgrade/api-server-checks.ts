import type { X509Certificate } from "node:crypto";
import { compareKubernetesVersions } from "../../crd/kubernetes-version.ts";
import { KubeError } from "../../kube/errors.ts";
import type { TenantClient } from "../tenant-client.ts";
import type { Finding, UpgradeCheck } from "./upgrade-check.ts";

/** The labels of this metric are stable, and in the order of their names. Those of one that nobody removes do not match. */
const REQUESTED =
  /^apiserver_requested_deprecated_apis\{group="([\w.-]{0,150})",removed_release="([1-9]\d?\.[1-9]\d{0,2})",resource="([\w.-]{1,150})",subresource="[\w/-]{0,150}",version="(\w{1,150})"\} /;

/**
 * The APIs that were requested since the API server started and that a target no longer serves, by the metric
 * `apiserver_requested_deprecated_apis`. Metrics grow with the cluster, to more than other responses may have: they are
 * read line by line.
 */
export async function* readRemovedApis(
  client: Pick<TenantClient, "readLines">,
  targets: readonly string[],
): AsyncGenerator<Finding> {
  const found = new Set<string>();
  let isOfApiServer = false;
  for await (const line of client.readLines("/metrics")) {
    isOfApiServer ||= line.startsWith("apiserver_");
    const [, group = "", release, resource = "", version = ""] = REQUESTED.exec(line) ?? [];
    const name = [resource, version, group].filter((part) => part !== "").join(".");
    if (release === undefined || found.has(name)) continue;
    const concerned = targets.filter((target) => compareKubernetesVersions(release, target) <= 0);
    if (concerned.length > 0) found.add(name);
    for (const target of concerned) yield { target, check: toRemovedApiCheck(name, release) };
  }
  // An API server always has metrics of its requests.
  const kubeMessage = "/metrics has none of an API server";
  if (!isOfApiServer) throw new KubeError({ status: 0, reason: "InvalidResponse", kubeMessage });
}

function toRemovedApiCheck(name: string, release: string): UpgradeCheck {
  return {
    check: "removed_api",
    severity: "blocking",
    object: { kind: "APIResource", namespace: null, name },
    message: `This API was requested since the API server started, and is removed in Kubernetes ${release}.`,
    fix: "Find who uses it, as the audit log or managedFields show, and move them to the version that replaces it.",
  };
}

const DAY_MS = 24 * 3600 * 1000;
/** An end within so many days is soon. */
const SOON_DAYS = 60;
/**
 * Where less of a certificate's life is left, nobody renewed it: what renews certificates does so with a third left. One
 * that lives for some days is not near its end all the time.
 */
const OVERDUE_SHARE = 1 / 4;

type Validity = Pick<X509Certificate, "validFromDate" | "validToDate">;

/** The certificates of the control plane, as its API server shows them, that end soon. */
export async function* readCertificateChecks(
  client: Pick<TenantClient, "readCertificates">,
): AsyncGenerator<Finding> {
  for (const check of findEnding(await client.readCertificates(), new Date())) yield { check };
}

/** The first authority that ends within 60 days, and the server's certificate, unless it may yet be renewed in time. */
export function findEnding(
  { authorities, server }: { authorities: readonly Validity[]; server: Validity | undefined },
  now: Date,
): UpgradeCheck[] {
  const soon = now.getTime() + SOON_DAYS * DAY_MS;
  const ends = authorities.map(({ validToDate }) => validToDate.getTime());
  const end = Math.min(...ends);
  const checks: UpgradeCheck[] = [];
  if (end <= soon)
    checks.push({
      ...toCertificateCheck("certificate-authority"),
      message: `The certificate authority of the cluster ends on ${toText(end)}: afterwards none of its certificates is valid, and no upgrade renews it.`,
      fix: "Ask the operators of the platform to renew it, or move to a new cluster, before that day.",
    });
  if (server !== undefined && isOverdue(server, soon, now))
    checks.push({
      ...toCertificateCheck("kube-apiserver"),
      message: `The certificate of the API server ends on ${toText(server.validToDate.getTime())}, as those do that were issued with it. It was not renewed yet.`,
      fix: "Upgrade before that day: new machines of the control plane have new certificates. Or ask the operators of the platform to renew them.",
    });
  return checks;
}

function isOverdue({ validFromDate, validToDate }: Validity, soon: number, now: Date): boolean {
  const left = validToDate.getTime() - now.getTime();
  const life = validToDate.getTime() - validFromDate.getTime();
  return validToDate.getTime() <= soon && left < life * OVERDUE_SHARE;
}

function toCertificateCheck(name: string) {
  const object = { kind: "Certificate", namespace: null, name };
  return { check: "certificate_ends", severity: "warning", object } as const;
}

function toText(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
