import type { KubeClient } from "../../../shared/kube/client.ts";
import type { Transport } from "../../../shared/kube/transport.ts";
import type { Logger } from "../../../shared/program/log.ts";
import type { Config } from "./config.ts";
import type { Sources } from "./environment.ts";
import type { EndpointSlice, Service } from "./kinds.ts";

/** The dependencies of every Pod. */
export interface Context {
  config: Config;
  client: KubeClient;
  transport: Transport;
  /** The Secrets and ConfigMaps of a namespace, from caches. */
  sourcesOf(namespace: string): Sources;
  servicesOf(namespace: string): Service[];
  slicesOf: (service: Service) => EndpointSlice[];
  log: Logger;
}

/** A Pod's place on this machine. */
export interface Place {
  podIP: string;
  /** Holds its volumes and the roots of its containers. */
  folder: string;
}

export const FIELD_MANAGER = "marina-node-agent";
