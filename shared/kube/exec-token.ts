import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { z } from "zod";

const run = promisify(execFile);

export interface ExecConfig {
  apiVersion: string;
  command: string;
  args?: string[] | null | undefined;
  env?: { name: string; value: string }[] | null | undefined;
}

const credentialSchema = z.object({
  status: z.object({ token: z.string().min(1), expirationTimestamp: z.string().optional() }),
});

/** Renewed this long before its expiry, so that no request leaves with a token that is about to end. */
const MARGIN_MS = 60_000;

/**
 * A token from a credential plugin (kubeconfig `exec`), cached until a minute before it expires. Plugins that give a
 * client certificate instead are refused. Protocol: kubernetes.io/docs, "client-go credential plugins".
 */
export function createExecToken(exec: ExecConfig): (refresh?: boolean) => Promise<string> {
  let current: Promise<z.infer<typeof credentialSchema>["status"]> | undefined;
  return async (refresh = false) => {
    const known = refresh ? undefined : await current;
    if (known !== undefined && !isExpiring(known.expirationTimestamp)) return known.token;
    current = runPlugin(exec);
    current.catch(() => {
      current = undefined;
    });
    return (await current).token;
  };
}

function isExpiring(expirationTimestamp: string | undefined): boolean {
  return expirationTimestamp !== undefined && Date.parse(expirationTimestamp) - Date.now() < MARGIN_MS;
}

async function runPlugin(exec: ExecConfig) {
  const info = JSON.stringify({
    apiVersion: exec.apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false },
  });
  const variables = [
    ...(exec.env ?? []).map(({ name, value }) => `${name}=${value}`),
    `KUBERNETES_EXEC_INFO=${info}`,
  ];
  // env(1) adds to the inherited environment without this process having to read its own.
  const { stdout } = await run("env", [...variables, exec.command, ...(exec.args ?? [])], {
    timeout: 30_000,
  });
  const parsed = credentialSchema.safeParse(JSON.parse(stdout));
  if (!parsed.success) throw new Error(`credential plugin ${exec.command} gave no token`);
  return parsed.data.status;
}
