import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeApi } from "../stack/kube-api.ts";
import type { Ports } from "../stack/ports.ts";
import { requireHttpOk } from "../stack/probes.ts";
import type { Node } from "../stack/supervisor.ts";
import type { Tools } from "../stack/tools.ts";
import type { Settings } from "./context.ts";
import { buildManifests } from "./crds.ts";

export interface LocalProviderDeps {
  dir: string;
  ports: Ports;
  tools: Tools;
  kubeconfig: string;
  kube: KubeApi;
  platformCIDRs: readonly string[];
}

export const LOCAL_PROVIDER_PORTS = ["local-front", "local-provider"] as const;

/** What Go reads from the environment, so that linking finds the modules and the cache of the first build. */
const GO_VARIABLES = [
  "GOPATH",
  "GOMODCACHE",
  "GOCACHE",
  "GOPROXY",
  "GOTOOLCHAIN",
  "GOSUMDB",
  "XDG_CACHE_HOME",
];

function goVariables(): Record<string, string> {
  return Object.fromEntries(
    GO_VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  );
}

function describeSettings({ dir, ports, tools, kubeconfig, platformCIDRs }: LocalProviderDeps): Settings {
  return {
    runDir: dir,
    kubeconfig,
    healthPort: ports["local-provider"] ?? 0,
    frontUrl: `http://127.0.0.1:${ports["local-front"]}`,
    platformCIDRs,
    toolsDir: tools.dir,
    programs: {
      etcdUrl: `http://127.0.0.1:${ports.etcd}`,
      tools: {
        "kube-controller-manager": tools.path("kube-controller-manager"),
        "kube-scheduler": tools.path("kube-scheduler"),
        kwok: tools.path("kwok"),
      },
      kwokStagesFile: tools.kwokStagesFile,
    },
  };
}

/** The provider of tenant clusters that are plain processes: its custom resources, its TCP front and itself. */
export function localProviderNodes(deps: LocalProviderDeps): Node[] {
  const { dir, ports, kube } = deps;
  const frontPort = ports["local-front"] ?? 0;
  return [
    {
      name: "local-provider CRDs",
      after: ["kube-apiserver"],
      async run() {
        const { crds, role } = buildManifests();
        await kube.apply([...crds, role]);
        await kube.waitEstablished(
          crds.map((crd) => crd.metadata.name),
          30_000,
        );
      },
    },
    {
      name: "local-front",
      after: [],
      process: () => ({
        command: process.execPath,
        args: [
          join(import.meta.dirname, "front", "main.ts"),
          `--port=${frontPort}`,
          `--file=${join(dir, "local-front.json")}`,
        ],
        probe: () => requireHttpOk(`http://127.0.0.1:${frontPort}/readyz`),
        deadlineMs: 20_000,
        stopTimeoutMs: 1000,
      }),
    },
    {
      name: "local-provider",
      after: ["local-provider CRDs", "capi-core CRDs", "local-front"],
      process() {
        const file = join(dir, "local-provider.json");
        writeFileSync(file, JSON.stringify(describeSettings(deps), undefined, 2), { mode: 0o600 });
        return {
          command: process.execPath,
          args: [join(import.meta.dirname, "main.ts"), file],
          env: goVariables(),
          probe: () => requireHttpOk(`http://127.0.0.1:${ports["local-provider"]}/readyz`),
          deadlineMs: 30_000,
          stopTimeoutMs: 5000,
        };
      },
    },
  ];
}
