import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildManifests, type Config, FRONT_ENTRY, PROVIDER_ENTRY } from "../local-provider/program.ts";
import type { KubeApi } from "./kube-api.ts";
import { userOf } from "./marina.ts";
import type { Ports } from "./ports.ts";
import { requireHttpOk } from "./probes.ts";
import type { Node } from "./supervisor.ts";
import { GO_MODULE_DIR, PACKAGES, type Tools } from "./tools.ts";

export interface LocalProviderDeps {
  dir: string;
  ports: Ports;
  tools: Tools;
  kubeconfig: string;
  kube: KubeApi;
  platformCIDRs: readonly string[];
}

export const LOCAL_PROVIDER_PORTS = ["local-front", "local-provider"] as const;

/** Variables that Go reads, so that linking uses the modules and the cache of the first build. */
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

function describeConfig({ dir, ports, tools, kubeconfig, platformCIDRs }: LocalProviderDeps): Config {
  return {
    runDir: dir,
    kubeconfig,
    healthPort: ports["local-provider"] ?? 0,
    frontUrl: `http://127.0.0.1:${ports["local-front"]}`,
    platformCIDRs,
    apiserverBuild: {
      folder: tools.dir,
      goModuleDir: GO_MODULE_DIR,
      goPackage: PACKAGES["kube-apiserver"],
    },
    programs: {
      etcdUrl: `http://127.0.0.1:${ports.etcd}`,
      paths: {
        "kube-controller-manager": tools.path("kube-controller-manager"),
        "kube-scheduler": tools.path("kube-scheduler"),
        kwok: tools.path("kwok"),
      },
      kwokStagesFile: tools.kwokStagesFile,
      garbagePercent: process.env.GOGC,
    },
  };
}

/** The local provider's CustomResourceDefinitions, its TCP front and the provider itself. */
export function localProviderNodes(deps: LocalProviderDeps): Node[] {
  const { dir, ports, kube } = deps;
  const frontPort = ports["local-front"] ?? 0;
  return [
    {
      name: "local-provider CRDs",
      after: ["kube-apiserver"],
      async run() {
        const { crds, roles } = buildManifests(userOf("operator"));
        await kube.apply([...crds, ...roles]);
        await kube.waitEstablished(
          crds.map((crd) => crd.metadata.name),
          180_000,
        );
      },
    },
    {
      name: "local-front",
      after: [],
      process: () => ({
        command: process.execPath,
        args: [FRONT_ENTRY, `--port=${frontPort}`, `--file=${join(dir, "local-front.json")}`],
        probe: () => requireHttpOk(`http://127.0.0.1:${frontPort}/readyz`),
        stopTimeoutMs: 1000,
      }),
    },
    {
      name: "local-provider",
      after: ["local-provider CRDs", "capi-core CRDs", "local-front"],
      process() {
        const file = join(dir, "local-provider.json");
        writeFileSync(file, JSON.stringify(describeConfig(deps), undefined, 2), { mode: 0o600 });
        return {
          command: process.execPath,
          args: [PROVIDER_ENTRY, file],
          env: goVariables(),
          probe: () => requireHttpOk(`http://127.0.0.1:${ports["local-provider"]}/readyz`),
          stopTimeoutMs: 5000,
        };
      },
    },
  ];
}
