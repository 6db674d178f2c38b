/** What is priced by the unit and month, in the order of the rate card. */
export const RESOURCE_TYPES = [
  "control_plane",
  "vcpu",
  "memory",
  "disk",
  "storage_block",
  "storage_rwx",
  "loadbalancer",
  "registry",
  "snapshot",
  "public_ip",
] as const;

export type ResourceType = (typeof RESOURCE_TYPES)[number];
