import { stringify } from "yaml";
import { composeDevelopmentObjects } from "./development-objects.ts";
import {
  CLUSTER_API_VERSION,
  DEVELOPMENT_NAMESPACE,
  KIND_CLUSTER,
  type KindSettings,
  kubeconfigOf,
  PLATFORM_NAMESPACE,
} from "./settings.ts";
import { composeClassValues, composeMarinaValues } from "./values.ts";

export interface Command {
  program: "docker" | "kind" | "kubectl" | "helm" | "clusterctl";
  args: readonly string[];
  stdin?: string;
  environment?: Readonly<Record<string, string>>;
}

/** The end of a command: its exit code and what it printed. */
export interface Outcome {
  code: number;
  stdout: string;
}

export interface Step {
  name: string;
  /** Why the step is there, for the person who runs it. */
  why: string;
  /** A command that changes nothing, and whether its outcome shows that the step is done. */
  check: { command: Command; isDone: (outcome: Outcome) => boolean };
  commands: readonly Command[];
}

/** Everything up to the running chart, in order; each step may run again. Commands run in the root of the checkout. */
export function planSteps(settings: KindSettings): Step[] {
  const environment = environmentOf(settings);
  return [
    createCluster(environment),
    loadImage(settings.imageTag),
    installClusterApi(environment),
    applyDevelopment(settings, environment),
    installChart(settings, "marina-classes", {
      values: composeClassValues(),
      why: "a ClusterClass says how a cluster is made: here each machine is a container of Docker",
    }),
    installChart(settings, "marina", {
      values: composeMarinaValues(settings),
      why: "the API server and the operator, as in any installation; helm runs the migration of the database first",
    }),
  ];
}

type Environment = Readonly<Record<string, string>>;

function environmentOf({ dir }: KindSettings): Environment {
  return { KUBECONFIG: kubeconfigOf(dir) };
}

function createCluster(environment: Environment): Step {
  return {
    name: "kind cluster",
    why: "the management cluster: Cluster API and Marina run in it, tenant clusters beside it",
    check: {
      command: { program: "kubectl", args: ["get", "--raw", "/readyz"], environment },
      isDone: ({ code, stdout }) => code === 0 && stdout === "ok",
    },
    commands: [
      {
        program: "kind",
        args: ["create", "cluster", "--config=kind-config.yaml", "--wait=180s"],
        environment,
      },
    ],
  };
}

function loadImage(imageTag: string): Step {
  const image = `marina/marina:${imageTag}`;
  return {
    name: "image",
    why: "the node of kind has its own store of images, to which the one of this checkout is copied",
    check: {
      command: {
        program: "docker",
        args: ["exec", `${KIND_CLUSTER}-control-plane`, "crictl", "inspecti", `docker.io/${image}`],
      },
      isDone: ({ code }) => code === 0,
    },
    commands: [{ program: "kind", args: ["load", "docker-image", image, `--name=${KIND_CLUSTER}`] }],
  };
}

interface Provider {
  providerName: string;
  version: string;
}

function installClusterApi(environment: Environment): Step {
  const names = ["cluster-api", "kubeadm", "kubeadm", "docker"];
  const [core, bootstrap, controlPlane, infrastructure] = names.map(
    (name) => `${name}:${CLUSTER_API_VERSION}`,
  );
  return {
    name: "Cluster API",
    why: "Cluster API, which makes machines, with the provider whose machines are containers",
    check: {
      command: {
        program: "kubectl",
        args: ["get", "providers.clusterctl.cluster.x-k8s.io", "--all-namespaces", "--output=json"],
        environment,
      },
      isDone({ code, stdout }) {
        if (code !== 0) return false;
        const { items } = JSON.parse(stdout) as { items: Provider[] };
        const found = items.filter(({ version }) => version === CLUSTER_API_VERSION);
        return (
          JSON.stringify(found.map(({ providerName }) => providerName).sort()) ===
          JSON.stringify(names.toSorted())
        );
      },
    },
    commands: [
      {
        program: "clusterctl",
        args: [
          "init",
          `--core=${core}`,
          `--bootstrap=${bootstrap}`,
          `--control-plane=${controlPlane}`,
          `--infrastructure=${infrastructure}`,
          "--wait-providers",
        ],
        environment: { ...environment, CLUSTER_TOPOLOGY: "true", EXP_MACHINE_TAINT_PROPAGATION: "true" },
      },
    ],
  };
}

function applyDevelopment(settings: KindSettings, environment: Environment): Step {
  const stdin = composeDevelopmentObjects(settings)
    .map((object) => stringify(object))
    .join("---\n");
  const apply = ["--server-side", "--force-conflicts", "--filename=-"];
  const wait = (name: string): Command => ({
    program: "kubectl",
    args: [
      "rollout",
      "status",
      `deployment/${name}`,
      `--namespace=${DEVELOPMENT_NAMESPACE}`,
      "--timeout=300s",
    ],
    environment,
  });
  return {
    name: "Postgres and identity provider",
    why: "an installation brings its own; these are for development alone",
    check: {
      // It ends with 1 for a difference, and with more when a namespace is missing.
      command: { program: "kubectl", args: ["diff", ...apply], stdin, environment },
      isDone: ({ code }) => code === 0,
    },
    commands: [
      { program: "kubectl", args: ["apply", ...apply], stdin, environment },
      wait("postgres"),
      wait("identity"),
    ],
  };
}

function installChart(
  settings: KindSettings,
  chart: keyof KindSettings["chartDigests"],
  { values, why }: { values: object; why: string },
): Step {
  const environment = environmentOf(settings);
  const namespace = `--namespace=${PLATFORM_NAMESPACE}`;
  const description = `chart ${settings.chartDigests[chart]}`;
  return {
    name: `chart ${chart}`,
    why,
    check: {
      command: { program: "helm", args: ["status", chart, namespace, "--output=json"], environment },
      isDone: ({ code, stdout }) => code === 0 && isRelease(stdout, values, description),
    },
    commands: [
      {
        program: "helm",
        args: [
          "upgrade",
          "--install",
          chart,
          `charts/${chart}`,
          namespace,
          "--values=-",
          `--description=${description}`,
          "--wait",
          "--timeout=10m",
        ],
        stdin: JSON.stringify(values),
        environment,
      },
    ],
  };
}

interface Release {
  info: { status: string; description: string };
  config?: object;
}

/** Whether a release is deployed with these values, from a chart of this description. */
function isRelease(text: string, values: object, description: string): boolean {
  const { info, config = {} }: Release = JSON.parse(text);
  const isSame = info.description === description && sortedJson(config) === sortedJson(values);
  return info.status === "deployed" && isSame;
}

function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
