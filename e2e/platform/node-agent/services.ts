import type { Store } from "../../../shared/kube/store.ts";
import { loopbackOfService } from "./addresses.ts";
import type { EndpointSlice, Service } from "./kinds.ts";
import { openServiceProxy, type ServiceProxy, selectEndpoints } from "./proxy.ts";

const LABEL_SERVICE = "kubernetes.io/service-name";
/** Index of the slices: "namespace/service". */
export const INDEX_SERVICE = "service";

export function indexByService({ metadata }: EndpointSlice): string[] {
  const service = metadata.labels?.[LABEL_SERVICE];
  return service === undefined ? [] : [`${metadata.namespace}/${service}`];
}

/** Keeps a proxy at each port of each Service's address. */
export interface ServiceProxies {
  /** Call it when the Service has changed or was deleted. */
  sync(key: string): void;
  close(): void;
}

export function createServiceProxies(
  network: number,
  services: Store<Service>,
  slices: Store<EndpointSlice>,
): ServiceProxies {
  const proxies = new Map<string, { address: string; all: ServiceProxy[] }>();

  function close(key: string): void {
    for (const proxy of proxies.get(key)?.all ?? []) proxy.close();
    proxies.delete(key);
  }

  return {
    sync(key) {
      const { clusterIP = "None", ports = [] } = services.get(key)?.spec ?? {};
      const address = clusterIP === "None" ? "" : JSON.stringify([clusterIP, ports]);
      if (proxies.get(key)?.address === address) return;
      close(key);
      if (address === "") return;
      const host = loopbackOfService(network, clusterIP);
      const all = ports.map(({ name = "", port }) =>
        openServiceProxy({ host, port }, () => selectEndpoints(slices.byIndex(INDEX_SERVICE, key), name)),
      );
      proxies.set(key, { address, all });
    },
    close() {
      for (const key of proxies.keys()) close(key);
    },
  };
}
