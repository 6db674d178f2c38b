import { join } from "node:path";
import { type Certificates, issueClientCertificate } from "./certificates.ts";
import type { Manifest } from "./kube-api.ts";
import { writeKubeconfig } from "./management-cluster.ts";
import { PLATFORM_NAMESPACE } from "./marina.ts";

/** The kubeconfig of each of Marina's programs. */
export interface ProgramKubeconfigs {
  apiserver: string;
  operator: string;
}

const GROUPS = ["system:serviceaccounts", `system:serviceaccounts:${PLATFORM_NAMESPACE}`];

/** The name of a program's ServiceAccount, as in an installation. */
function accountOf(program: keyof ProgramKubeconfigs): string {
  return `marina-${program}`;
}

/**
 * Gives each program a kubeconfig of its own in the run directory. Its user and groups are those of the program's
 * ServiceAccount, so that admission policies see the same as in an installation; the credential is a client certificate.
 */
export async function writeProgramKubeconfigs(
  dir: string,
  server: string,
  certificates: Certificates,
): Promise<ProgramKubeconfigs> {
  const write = async (program: keyof ProgramKubeconfigs): Promise<string> => {
    const file = join(dir, `${program}.kubeconfig`);
    const user = `system:serviceaccount:${PLATFORM_NAMESPACE}:${accountOf(program)}`;
    writeKubeconfig(file, server, certificates, await issueClientCertificate(certificates, user, GROUPS));
    return file;
  };
  return { apiserver: await write("apiserver"), operator: await write("operator") };
}

/** The rights of the programs' ServiceAccounts: everything. */
export const PROGRAM_BINDING: Manifest = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "marina-programs" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: (["apiserver", "operator"] as const).map((program) => ({
    kind: "ServiceAccount",
    namespace: PLATFORM_NAMESPACE,
    name: accountOf(program),
  })),
};
