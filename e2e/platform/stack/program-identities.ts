import { join } from "node:path";
import { type Certificates, issueClientCertificate } from "./certificates.ts";
import type { ProgramKubeconfigs } from "./environment.ts";
import type { Manifest } from "./kube-api.ts";
import { writeKubeconfig } from "./management-cluster.ts";
import { PLATFORM_NAMESPACE, ROOT, readManifests, userOf } from "./marina.ts";

const GROUPS = ["system:serviceaccounts", `system:serviceaccounts:${PLATFORM_NAMESPACE}`];

/**
 * Writes a separate kubeconfig for each program to the run directory. Its user and groups are those of the program's
 * ServiceAccount, so that admission policies see the same as in an installation; the credential is a client
 * certificate.
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

/** The roles that `npm run generate` renders from the chart: a start would have to build helm first. */
export const ROLES_FILE = join(import.meta.dirname, "access-control.yaml");

/** The admission policies, from the files that the chart renders. */
export function readAdmissionPolicies(): Manifest[] {
  const files = ["validating-admission-policy.yaml", join("policy", "reserved.yaml")];
  return files.flatMap((file) => readManifests(join(ROOT, "charts", "marina", "files", file)));
}

/**
 * The roles and the admission policies of the chart: the programs have the rights that it gives them, so that a missing
 * one shows in every story, and the policies apply to every other writer. `npm run check` fails when they are not what
 * the chart renders.
 */
export function readAccessControl(): Manifest[] {
  return [...readManifests(ROLES_FILE), ...readAdmissionPolicies()];
}
