import { readFileSync } from "node:fs";
import { readConfig } from "../config.ts";
import { issueClientCertificate } from "../tenant/sign.ts";
import type { FleetOptions, Tenant } from "./converged-fleet.ts";
import type { Template } from "./copy.ts";

/** Reads the fleet's options: the operator's environment, the template's file, and the tenant's as JSON. */
export async function readFleetOptions(templateFile = "", tenantJson = ""): Promise<FleetOptions> {
  const { settings, apiserverServiceAccount } = readConfig();
  const template: Template = JSON.parse(readFileSync(templateFile, "utf8"));
  const tenant: Tenant = JSON.parse(tenantJson);
  const credential = await issueClientCertificate({
    ca: { certificate: tenant.caCertificate, key: tenant.caKey },
    commonName: "bench",
    organization: "bench",
    notBefore: new Date(),
    notAfter: new Date(Date.now() + 7 * 24 * 3600 * 1000),
  });
  const apiserver = { namespace: settings.platformNamespace, name: apiserverServiceAccount };
  return { template, tenant, credential, settings, apiserver };
}
