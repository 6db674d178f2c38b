import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { type Certificates, issueClientCertificate } from "./certificates.ts";
import type { ProgramKubeconfigs } from "./environment.ts";
import type { Manifest } from "./kube-api.ts";
import { writeKubeconfig } from "./management-cluster.ts";
import { PLATFORM_NAMESPACE, ROOT, userOf } from "./marina.ts";

const run = promisify(execFile);
const CHART = join(ROOT, "charts", "marina");

const GROUPS = ["system:serviceaccounts", `system:serviceaccounts:${PLATFORM_NAMESPACE}`];

/**
 * Gives each program a kubeconfig of its own in the run directory. Its user and groups are those of the program's
 * ServiceAccount, so that admission policies see the same as in an installation; the credential is a client certificate.
 */
export async function writeProgramKubeconfigs(
  dir: string,
  server: string,
  certificates: Certificates,
): Promise<ProgramKubeconfigs> {
  const write = async (
    file: keyof ProgramKubeconfigs,
    user: string,
    groups: readonly string[],
  ): Promise<string> => {
    const path = join(dir, `${file}.kubeconfig`);
    writeKubeconfig(path, server, certificates, await issueClientCertificate(certificates, user, groups));
    return path;
  };
  return {
    apiserver: await write("apiserver", userOf("apiserver"), GROUPS),
    operator: await write("operator", userOf("operator"), GROUPS),
    // Tests of the API server's parts write in its name, and read what it may not.
    tests: await write("tests", userOf("apiserver"), [...GROUPS, "system:masters"]),
  };
}

const CONTROL_GROUPS = ["rbac.authorization.k8s.io", "admissionregistration.k8s.io"];

/**
 * The roles and the admission policies of the chart: the programs have the rights that it gives them, so that a missing one
 * shows in every story, and whoever else writes is refused what it refuses.
 */
export async function renderAccessControl(helm: string): Promise<Manifest[]> {
  const values = ["host=local", "database.existingSecret=none", "oidc.issuers[0].issuer=https://local"];
  const set = [...values, "oidc.issuers[0].audience=none"].flatMap((value) => ["--set", value]);
  const args = ["template", "marina", CHART, "--namespace", PLATFORM_NAMESPACE, ...set];
  const { stdout } = await run(helm, args, { maxBuffer: 16 * 1024 * 1024 });
  const objects = parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
  return objects.filter(({ apiVersion }) => CONTROL_GROUPS.includes(apiVersion.split("/")[0] ?? ""));
}
