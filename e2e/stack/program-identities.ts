import { join } from "node:path";
import { type Certificates, issueClientCertificate } from "./certificates.ts";
import type { ProgramKubeconfigs } from "./environment.ts";
import type { Manifest } from "./kube-api.ts";
import { writeKubeconfig } from "./management-cluster.ts";
import { PLATFORM_NAMESPACE, readManifests, userOf } from "./marina.ts";

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
  const write = async (program: keyof ProgramKubeconfigs, groups = GROUPS): Promise<string> => {
    const file = join(dir, `${program}.kubeconfig`);
    writeKubeconfig(
      file,
      server,
      certificates,
      await issueClientCertificate(certificates, userOf(program), groups),
    );
    return file;
  };
  return {
    apiserver: await write("apiserver"),
    operator: await write("operator"),
    tests: await write("tests", [...GROUPS, "system:masters"]),
  };
}

/** What `npm run generate` renders from the chart: a start would have to build helm first. */
export const PROGRAM_RIGHTS_FILE = join(import.meta.dirname, "program-rights.yaml");

/**
 * The rights of the programs' ServiceAccounts: those that the chart gives them, so that a missing one shows in every story.
 * `npm run check` fails when the file is not what the chart renders.
 */
export function readProgramRights(): Manifest[] {
  return readManifests(PROGRAM_RIGHTS_FILE);
}
