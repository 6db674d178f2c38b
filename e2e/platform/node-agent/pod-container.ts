import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loopbackOfPod, loopbackOfService } from "./addresses.ts";
import { type ContainerProcess, startContainerProcess } from "./container-process.ts";
import type { Context, Place } from "./context.ts";
import { composeEnvironment, composeServiceVariables, expand } from "./environment.ts";
import type { Container, EndpointSlice, Pod, Service } from "./kinds.ts";
import { selectEndpoints } from "./proxy.ts";
import { BASE_ENVIRONMENT, composeSandboxCommand, type Mount } from "./sandbox.ts";

/** What the Dockerfile says. */
export const IMAGE = { entrypoint: ["node"], workingDir: "/app", uid: 65_532, gid: 65_532 };

/** The user and the group of a container. */
export function userOf(pod: Pod, { securityContext: own }: Container): { uid: number; gid: number } {
  const { securityContext: shared } = pod.spec;
  return {
    uid: own?.runAsUser ?? shared?.runAsUser ?? IMAGE.uid,
    gid: own?.runAsGroup ?? shared?.runAsGroup ?? IMAGE.gid,
  };
}

/** The folder of the image's files. Throws when there is none. */
function findImage({ config }: Context, image: string): string {
  const folder = join(config.imagesDir, image.split(/[:@]/).at(-1) ?? "");
  if (!existsSync(folder)) throw new Error(`there is no image ${image}`);
  return folder;
}

/**
 * /etc/hosts in place of a DNS server: the Services of the namespace at the time when the container is started. The
 * name of a headless one leads to its ready Pods.
 */
export function composeHosts(
  network: number,
  services: readonly Service[],
  slicesOf: (service: Service) => readonly EndpointSlice[],
): string {
  const lines = services.flatMap((service) => {
    const { name, namespace } = service.metadata;
    const { clusterIP = "None", ports = [] } = service.spec;
    const addresses =
      clusterIP === "None"
        ? selectEndpoints(slicesOf(service), ports[0]?.name ?? "").map(({ host }) => host)
        : [loopbackOfService(network, clusterIP)];
    return addresses.map((address) => `${address} ${name} ${name}.${namespace} ${name}.${namespace}.svc`);
  });
  return ["127.0.0.1 localhost", ...lines].map((line) => `${line}\n`).join("");
}

/** A container of a Pod that is about to be started, for the `count`th time. */
export interface Start extends Place {
  pod: Pod;
  spec: Container;
  count: number;
  folderOfVolume: (name: string) => string;
}

function environmentOf(context: Context, { pod, spec, podIP }: Start): Record<string, string> {
  const { config } = context;
  const { name, namespace = "" } = pod.metadata;
  const services = pod.spec.enableServiceLinks === false ? [] : context.servicesOf(namespace);
  return composeEnvironment({
    pod,
    podIP,
    container: spec,
    sources: context.sourcesOf(namespace),
    given: {
      ...BASE_ENVIRONMENT,
      HOSTNAME: name,
      [config.addressVariable]: loopbackOfPod(podIP),
      ...composeServiceVariables(services),
      KUBERNETES_SERVICE_HOST: config.kubernetes.host,
      KUBERNETES_SERVICE_PORT: String(config.kubernetes.port),
    },
  });
}

function mountsOf({ spec, folderOfVolume }: Start): Mount[] {
  return (spec.volumeMounts ?? []).map(({ name, mountPath, readOnly = false, subPath = "" }) => ({
    source: join(folderOfVolume(name), subPath),
    target: mountPath,
    readOnly,
  }));
}

/** Starts the process of a container. Throws ContainerConfigError while something that it names is missing. */
export function startPodContainer(context: Context, start: Start): ContainerProcess {
  const { config, log } = context;
  const { pod, spec, count, folder } = start;
  const { name, namespace = "" } = pod.metadata;
  const image = findImage(context, spec.image);
  const environment = environmentOf(context, start);
  const place = join(folder, `${spec.name}-${count}`);
  mkdirSync(join(place, "root"), { recursive: true });
  const hosts = join(place, "hosts");
  writeFileSync(hosts, composeHosts(config.network, context.servicesOf(namespace), context.slicesOf));
  const messageFile = join(place, "termination-log");
  const messagePath = spec.terminationMessagePath ?? "/dev/termination-log";
  const command = [...(spec.command ?? IMAGE.entrypoint), ...(spec.args ?? [])];
  const process = startContainerProcess({
    command: composeSandboxCommand({
      root: join(place, "root"),
      nodeBinary: config.nodeBinary,
      mounts: [
        { source: join(image, "app"), target: "/app", readOnly: true },
        { source: hosts, target: "/etc/hosts", readOnly: true, isFile: true },
        { source: messageFile, target: messagePath, readOnly: false, isFile: true },
        ...mountsOf(start),
      ],
      ...userOf(pod, spec),
      workingDir: spec.workingDir ?? IMAGE.workingDir,
      command: command.map((text) => expand(text, environment)),
    }),
    environment,
    log: join(config.runDir, "logs", "pods", `${namespace}.${name}.${spec.name}.log`),
    messageFile,
    policy: spec.terminationMessagePolicy,
  });
  log.info({ pod: `${namespace}/${name}`, container: spec.name, pid: process.pid, count }, "started");
  return process;
}
