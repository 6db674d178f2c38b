import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { parseAllDocuments, stringify } from "yaml";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { waitFor } from "../platform/stack/testing.ts";
import type { Release } from "./release.ts";
import type { Values } from "./values.ts";

/** A way in which an administrator brings a version of the chart into the cluster. `chart` is a folder or a package. */
export interface Way {
  /** Resolves when the objects are written. */
  begin(chart: string): Promise<void>;
  /**
   * Resolves when everything is ready; rejects when it is not within this time, or never can be, where the tool sees
   * that.
   */
  deploy(chart: string, timeoutSeconds?: number): Promise<void>;
  /** Back to the version before, which is this chart. */
  rollback(chart: string): Promise<void>;
  /** Removes the programs; with helm everything that it does not keep. */
  remove(): Promise<void>;
}

const MIGRATIONS = "--selector=app.kubernetes.io/component=migrate";

interface JobSummary {
  metadata: { name: string };
  status: { conditions?: { type: string; status: string; message?: string }[] };
}

/** The migration Jobs of the release's namespace. */
export async function listMigrations(release: Release): Promise<JobSummary[]> {
  return JSON.parse(await release.kubectl(["get", "jobs", MIGRATIONS, "--output=json"])).items;
}

export function isJob({ status }: JobSummary, condition: "Complete" | "Failed"): boolean {
  return (status.conditions ?? []).some((one) => one.type === condition && one.status === "True");
}

/** By helm. */
export function byHelm(release: Release, values: Values): Way {
  const upgrade = (chart: string, ...options: string[]) =>
    release.upgrade(values, chart, "--install", ...options);
  return {
    begin: (chart) => upgrade(chart, "--wait=hookOnly"),
    deploy: (chart, timeoutSeconds = 400) => upgrade(chart, `--timeout=${timeoutSeconds}s`),
    rollback: () => release.rollback(),
    remove: () => release.uninstall("--no-hooks"),
  };
}

interface Applied {
  kind: string;
  metadata: { name: string };
}

/**
 * As Argo CD does it: what `helm template` renders is applied by the server, what is no longer in it is pruned, and the
 * health of Jobs and Deployments is that of Argo CD's rules
 * (https://argo-cd.readthedocs.io/en/stable/operator-manual/health/).
 */
export function byServerSideApply(stack: StackInfo, release: Release, values: Values): Way {
  const { namespace } = release;

  async function render(chart: string): Promise<Applied[]> {
    const args = ["template", "marina", chart, "--namespace", namespace, "--no-hooks", "--values", "-"];
    const running = promisify(execFile)(stack.helm, args, { maxBuffer: 64 * 2 ** 20 });
    running.child.stdin?.end(stringify(values));
    const documents = parseAllDocuments((await running).stdout);
    return documents.flatMap((document) => (document.toJS() as Applied | null) ?? []);
  }

  async function begin(chart: string): Promise<string> {
    const objects = await render(chart);
    const applying = ["apply", "--server-side", "--force-conflicts", "--field-manager=argocd-controller"];
    await release.kubectl(
      [...applying, "--filename=-"],
      objects.map((one) => JSON.stringify(one)).join("\n---\n"),
    );
    const migration = objects.find(({ kind }) => kind === "Job")?.metadata.name ?? "";
    const former = (await listMigrations(release)).map(({ metadata }) => metadata.name);
    const pruned = former.filter((name) => name !== migration);
    if (pruned.length > 0) await release.kubectl(["delete", "job", ...pruned]);
    return migration;
  }

  async function findHealth(migration: string): Promise<"Healthy" | "Degraded" | undefined> {
    const job = (await listMigrations(release)).find(({ metadata }) => metadata.name === migration);
    if (job === undefined) return undefined;
    if (isJob(job, "Failed")) return "Degraded";
    const path =
      "--output=jsonpath={.metadata.generation}/{.status.observedGeneration}/{.spec.replicas}/{.status.updatedReplicas}/{.status.availableReplicas}/{.status.replicas}";
    for (const name of ["marina-apiserver", "marina-operator"]) {
      const said = await release.kubectl(["get", "deployment", name, path]);
      const [generation, observed, ...replicas] = said.split("/");
      if (generation !== observed || new Set(replicas).size !== 1) return undefined;
    }
    return isJob(job, "Complete") ? "Healthy" : undefined;
  }

  async function deploy(chart: string, timeoutSeconds = 400): Promise<void> {
    const migration = await begin(chart);
    const health = await waitFor("its health", () => findHealth(migration), {
      timeoutMs: timeoutSeconds * 1000,
    });
    if (health === "Degraded") throw new Error(`Job/${migration} is Degraded`);
  }

  return {
    async begin(chart) {
      await begin(chart);
    },
    deploy,
    rollback: (chart) => deploy(chart),
    async remove() {
      await release.kubectl(["delete", "deployments,jobs", "--selector=app.kubernetes.io/name=marina"]);
    },
  };
}
