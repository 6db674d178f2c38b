/**
 * Kubernetes accepts no loopback address as an endpoint, and programs here may listen on loopback only. So a Pod has an
 * address of 10.<network>.0.0/16 in the API, and listens on the same address of 127.0.0.0/8.
 */
export function podAddressOf(network: number, number: number): string {
  return `10.${network}.${2 + Math.floor(number / 250)}.${1 + (number % 250)}`;
}

/** Where the program of a Pod with this address listens. */
export function loopbackOfPod(podIP: string): string {
  return podIP.replace(/^10\./, "127.");
}

/** Where a Service with this cluster address, of a network with at most 256, is reached on this machine. */
export function loopbackOfService(network: number, clusterIP: string): string {
  return `127.${network}.1.${clusterIP.split(".").at(-1)}`;
}
