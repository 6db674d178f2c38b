import { readFileSync } from "node:fs";
import { z } from "zod";

const path = z.string().min(1);

const configSchema = z.strictObject({
  /** Holds the volumes and logs of the Pods. */
  runDir: path,
  kubeconfig: path,
  /** Serves /readyz and /metrics on 127.0.0.1. */
  healthPort: z.int().min(1).max(65_535),
  /** Names of the Nodes whose Pods it runs. */
  nodes: z.array(z.string().min(1)).min(1).readonly(),
  /** Folder of the images: the folder `0.1.0` in it is the root of every image with that tag. */
  imagesDir: path,
  /** The node binary of the base image. */
  nodeBinary: path,
  /** Second number of the addresses of Pods and Services: another one for each stack of a machine. */
  network: z.int().min(1).max(254),
  /** Where Pods reach the API of the cluster. */
  kubernetes: z.strictObject({ host: z.string(), port: z.int() }),
  /** Environment variable that gives a program its address: Pods share the network of the machine. */
  addressVariable: z.string().min(1),
  /** A projected token is replaced after this time; default: after four fifths of its life, as by kubelet. */
  tokenRefreshSeconds: z.number().positive().optional(),
});

export type Config = z.output<typeof configSchema>;

/** Reads the configuration from a JSON file. Throws ZodError with every fault at once. */
export function readConfig(file: string): Config {
  return configSchema.parse(JSON.parse(readFileSync(file, "utf8")));
}
