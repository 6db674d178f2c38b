import { readFileSync } from "node:fs";
import { z } from "zod";

const path = z.string().min(1);

const configSchema = z.strictObject({
  /** Holds the files, logs and process records of the tenants. */
  runDir: path,
  kubeconfig: path,
  /** Serves /healthz, /readyz and /metrics on 127.0.0.1. */
  healthPort: z.int().min(1).max(65_535),
  /** The control address of the TCP front (front/main.ts). */
  frontUrl: z.url(),
  /** Networks of the platform, which every tenant's endpoint accepts. */
  platformCIDRs: z.array(z.string()).readonly(),
  /** Where the kube-apiserver of each version is built, and the Go module that it is built from. */
  apiserverBuild: z.strictObject({ folder: path, goModuleDir: path, goPackage: z.string() }),
  /** The programs that every tenant runs, and what they share. */
  programs: z.strictObject({
    etcdUrl: z.url(),
    paths: z.strictObject({ "kube-controller-manager": path, "kube-scheduler": path, kwok: path }),
    kwokStagesFile: path,
    /** GOGC of every program; without it they are kept small. */
    garbagePercent: z.string().optional(),
  }),
});

export type Config = z.output<typeof configSchema>;
export type ProgramsConfig = Config["programs"];

/** Reads the configuration from a JSON file. Throws ZodError with every fault at once. */
export function readConfig(file: string): Config {
  return configSchema.parse(JSON.parse(readFileSync(file, "utf8")));
}
