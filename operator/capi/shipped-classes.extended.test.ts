import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClassTest, openClassTest, type ShippedClass } from "./testing-classes.ts";

const GROUP = "infrastructure.cluster.x-k8s.io";
const RESIZED = { vcpus: 4, memoryGB: 8, diskGB: 40 };

const NO_SUCH_SIZE = {
  what: "a size that no machine type has",
  change: { machineSize: { vcpus: 3, memoryGB: 7, diskGB: 20 } },
  sentence: "on offer are 2 vCPUs with 4 GB, 4 vCPUs with 8 GB",
};

const TOO_LONG_LIST = {
  what: "a list of 256 networks, which EC2's quota of rules does not allow",
  change: { authorizedCIDRs: Array.from({ length: 256 }, (_, index) => `198.18.${index}.0/24`) },
  sentence: "must have at most 57 items",
};

const CLASSES: ShippedClass[] = [
  {
    name: "docker",
    values: {},
    definitions: "cluster-api",
    infrastructure: { kind: "Dev", version: "v1beta2" },
    hasNamesPerNamespace: false,
    image: ({ spec }) => spec.template.spec.backend.docker.customImage,
    size({ spec }) {
      const { annotations } = spec.template.metadata;
      return ["vcpus", "memory-gb", "disk-gb"].map((name) => annotations[`machine.marina.dev/${name}`]);
    },
    resized: RESIZED,
    sizes: [
      ["2", "4", "20"],
      ["4", "8", "40"],
    ],
  },
  {
    name: "kubevirt",
    values: { image: "registry.example.com/disks/ubuntu-2404", storageClass: "fast" },
    definitions: { module: "sigs.k8s.io/cluster-api-provider-kubevirt", folder: "config/crd" },
    infrastructure: { kind: "Kubevirt", version: "v1alpha1" },
    hasNamesPerNamespace: true,
    wishes: { publicEndpoint: false },
    image: ({ spec }) => findDisk(spec).source.registry.url,
    size({ spec }) {
      const { cpu, memory } = spec.template.spec.virtualMachineTemplate.spec.template.spec.domain;
      return [cpu.cores, memory.guest, findDisk(spec).storage.resources.requests.storage];
    },
    resized: RESIZED,
    sizes: [
      [2, "4Gi", "20Gi"],
      [4, "8Gi", "40Gi"],
    ],
  },
  {
    name: "openstack",
    values: {
      cloudSecret: "cloud",
      imagePrefix: "ubuntu-2404-",
      flavours: [
        { vcpus: 2, memoryGB: 4, name: "m1.small" },
        { vcpus: 4, memoryGB: 8, name: "m1.medium" },
      ],
      controlPlane: { flavour: "m1.medium" },
    },
    definitions: { module: "sigs.k8s.io/cluster-api-provider-openstack", folder: "config/crd" },
    infrastructure: { kind: "OpenStack", version: "v1beta1" },
    hasNamesPerNamespace: true,
    wishes: { publicEndpoint: false, authorizedCIDRs: ["192.0.2.0/24"] },
    image: ({ spec }) => spec.template.spec.image.filter.name,
    size: ({ spec }) => [spec.template.spec.flavor, spec.template.spec.rootVolume.sizeGiB],
    resized: RESIZED,
    sizes: [
      ["m1.small", 20],
      ["m1.medium", 40],
    ],
    refusals: [NO_SUCH_SIZE],
  },
  {
    name: "vsphere",
    values: {
      server: "vcenter.example.com",
      identity: "vcenter",
      datacenter: "one",
      datastore: "fast",
      network: "machines",
      endpointNetwork: "10.0.5",
      nodesNetwork: "10.64",
      templatePrefix: "ubuntu-2404-kube-",
    },
    definitions: { module: "sigs.k8s.io/cluster-api-provider-vsphere", folder: "config/default/crd" },
    infrastructure: { kind: "VSphere", version: "v1beta2" },
    hasNamesPerNamespace: true,
    image: ({ spec }) => spec.template.spec.template,
    size({ spec: { template } }) {
      return [template.spec.numCPUs, template.spec.memoryMiB, template.spec.diskGiB];
    },
    resized: RESIZED,
    sizes: [
      [2, 4096, 20],
      [4, 8192, 40],
    ],
    refusals: [
      {
        what: "a network of nodes outside the /16",
        change: { workerSubnet: "10.65.3.0/24" },
        sentence: "is not in 10.64.0.0/16, by which this class gives API endpoints their addresses",
      },
      {
        what: "one vCPU, which the provider's schema does not allow",
        change: { machineSize: { vcpus: 1, memoryGB: 4, diskGB: 20 } },
        sentence: "machines have 2 vCPUs or more",
      },
    ],
  },
  {
    name: "proxmox",
    values: { templateTag: "ubuntu-2404", storage: "ceph", allowedNodes: ["pve1", "pve2"] },
    definitions: { module: "github.com/ionos-cloud/cluster-api-provider-proxmox", folder: "config/crd" },
    infrastructure: { kind: "Proxmox", version: "v1alpha2" },
    hasNamesPerNamespace: true,
    image: ({ spec }) => spec.template.spec.templateSelector.matchTags.join(" "),
    size({ spec: { template } }) {
      return [template.spec.numCores, template.spec.memoryMiB, template.spec.disks.bootVolume.sizeGb];
    },
    // The provider's schema does not allow a change of a disk.
    resized: { ...RESIZED, diskGB: 20 },
    sizes: [
      [2, 4096, 20],
      [4, 8192, 20],
    ],
    refusals: [
      {
        what: "another disk",
        change: { machineSize: { vcpus: 4, memoryGB: 8, diskGB: 40 } },
        sentence: "the disk of a node pool cannot change on this infrastructure: create another node pool",
      },
      {
        what: "a disk that the provider's schema does not allow",
        change: { machineSize: { vcpus: 4, memoryGB: 8, diskGB: 4 } },
        sentence: "machines have a disk of 5 GB or more",
      },
    ],
  },
  {
    name: "aws",
    values: {
      region: "eu-central-1",
      flavours: [
        { vcpus: 2, memoryGB: 4, name: "c7i.large" },
        { vcpus: 4, memoryGB: 8, name: "c7i.xlarge" },
      ],
      controlPlane: { instanceType: "m7i.large" },
    },
    definitions: { module: "sigs.k8s.io/cluster-api-provider-aws/v2", folder: "config/crd" },
    infrastructure: { kind: "AWS", version: "v1beta2" },
    hasNamesPerNamespace: false,
    wishes: { publicEndpoint: false, authorizedCIDRs: ["192.0.2.0/24", "2001:db8::/32"] },
    // The provider looks the image up by the version of the machine.
    image: (_, version) => version,
    size: ({ spec }) => [spec.template.spec.instanceType, spec.template.spec.rootVolume.size],
    resized: RESIZED,
    sizes: [
      ["c7i.large", 20],
      ["c7i.xlarge", 40],
    ],
    refusals: [NO_SUCH_SIZE, TOO_LONG_LIST],
  },
  {
    name: "gcp",
    values: {
      project: "platform",
      region: "europe-west3",
      credentials: "google",
      imagePrefix: "projects/images/global/images/ubuntu-2404-",
      controlPlane: { instanceType: "n2-standard-2" },
    },
    definitions: { module: "sigs.k8s.io/cluster-api-provider-gcp", folder: "config/crd" },
    infrastructure: { kind: "GCP", version: "v1beta1" },
    hasNamesPerNamespace: false,
    wishes: { publicEndpoint: false },
    image: ({ spec }) => spec.template.spec.image.replace(/-(\d+)-(\d+)$/, ".$1.$2"),
    size: ({ spec }) => [spec.template.spec.instanceType, spec.template.spec.rootDeviceSize],
    resized: RESIZED,
    sizes: [
      ["n2-custom-2-4096", 20],
      ["n2-custom-4-8192", 40],
    ],
    refusals: [
      {
        what: "an odd number of vCPUs",
        change: { machineSize: { vcpus: 3, memoryGB: 6, diskGB: 20 } },
        sentence: "machines have an even number of vCPUs up to 32",
      },
      {
        what: "too much memory for its vCPUs",
        change: { machineSize: { vcpus: 2, memoryGB: 17, diskGB: 20 } },
        sentence: "machines have 0.5 to 8 GB of memory for each vCPU",
      },
    ],
  },
];

// biome-ignore lint/suspicious/noExplicitAny: the specification of a provider's template
const findDisk = (spec: any) => spec.template.spec.virtualMachineTemplate.spec.dataVolumeTemplates[0].spec;

describe.each(CLASSES)("$name", (shipped) => {
  let one: ClassTest;
  beforeAll(async () => {
    one = await openClassTest(shipped);
  });
  afterAll(() => one.close());

  test("the objects of a new cluster are those that were reviewed", async () => {
    await one.apply({});
    await one.completeControlPlane("v1.34.2");
    await one.waitForPool({ replicas: 2, version: "v1.34.2" });
    expect(shipped.size(await one.readPoolTemplate())).toEqual(shipped.sizes[0]);
    await expect(await one.describeObjects()).toMatchFileSnapshot(`testing-classes/${shipped.name}.yaml`);
  });

  test("its clusters may share a name only where the provider finds nothing by the name", () => {
    expect(one.capabilities().hasNamesPerNamespace).toBe(shipped.hasNamesPerNamespace);
  });

  test("its lists are limited to IPv4 only where the provider leaves other networks out", () => {
    expect(one.capabilities().hasIPv4CIDRsAlone).toBe(shipped.name === "openstack");
  });

  test("a pool is scaled with the machines of its template", async () => {
    const before = await one.readPoolTemplate();
    await one.apply({ nodes: 5 });
    await one.waitForPool({ replicas: 5, version: "v1.34.2", machines: 5 });
    expect((await one.readPoolTemplate()).metadata.name).toBe(before.metadata.name);
  });

  test("another size makes another template of the pool, and none of the control plane", async () => {
    const controlPlane = await one.readControlPlane();
    const before = await one.readPoolTemplate();
    await one.apply({ machineSize: shipped.resized });
    const after = await one.waitForPoolTemplate((name) => name !== before.metadata.name);
    expect(shipped.size(after)).toEqual(shipped.sizes[1]);
    expect((await one.readControlPlane()).spec.machineTemplate).toEqual(controlPlane.spec.machineTemplate);
  });

  test("an upgrade takes the control plane first, then the pool, each with its image, and both to a newer class", async () => {
    const { uid } = (await one.readControlPlane()).metadata;
    await one.installNewer("newer");
    await one.apply({ version: "1.35.0" });
    await one.waitForControlPlane("v1.35.0");
    await one.waitForPool({ replicas: 2, version: "v1.34.2" });
    expect(one.sourceOf(await one.readPoolTemplate())).not.toBe("newer-worker");
    await one.completeControlPlane("v1.35.0");
    const pool = await one.waitForPool({ replicas: 2, version: "v1.35.0" });
    const { version } = pool.spec.template.spec;
    expect(shipped.image(await one.readPoolTemplate(), version)).toContain("v1.35.0");
    expect(shipped.image(await one.readControlPlaneTemplate(), version)).toContain("v1.35.0");
    expect(one.sourceOf(await one.readControlPlaneTemplate())).toBe("newer-control-plane");
    expect(one.sourceOf(await one.readPoolTemplate())).toBe("newer-worker");
    expect((await one.readControlPlane()).metadata.uid).toBe(uid);
  });

  test("the taints of a pool are those of its machines", async () => {
    const taints = [{ key: "gpu", value: "yes", effect: "NoExecute" }];
    await one.apply({ version: "1.35.0", taints });
    const pool = await one.waitForPool({ replicas: 2, version: "v1.35.0", taint: "gpu" });
    expect(pool.spec.template.spec.taints).toEqual([{ ...taints[0], propagation: "OnInitialization" }]);
  });

  test.each(shipped.refusals ?? [])("$what is refused: $sentence", async ({ change, sentence }) => {
    await expect(one.apply({ version: "1.35.0", ...change })).rejects.toThrow(sentence);
  });
});

test("a cluster of a class with the provider's former API version runs, and moves to the newer class", async () => {
  const vsphere = CLASSES.find(({ name }) => name === "vsphere");
  if (vsphere === undefined) throw new Error("there is no class vsphere");
  const { version } = vsphere.infrastructure;
  const rewrite = (manifests: string) => manifests.replaceAll(`${GROUP}/${version}`, `${GROUP}/v1beta1`);
  const one = await openClassTest({ ...vsphere, rewrite });
  try {
    await one.apply({});
    await one.completeControlPlane("v1.34.2");
    await one.waitForPool({ replicas: 2, version: "v1.34.2", machines: 2 });
    const before = await one.readPoolTemplate();
    await one.installNewer("newer");
    await one.apply({ version: "1.35.0" });
    await one.waitForControlPlane("v1.35.0");
    await one.completeControlPlane("v1.35.0");
    await one.waitForPool({ replicas: 2, version: "v1.35.0" });
    const after = await one.readPoolTemplate();
    expect(one.sourceOf(after)).toBe("newer-worker");
    expect(after.spec.template.spec).toEqual({
      ...before.spec.template.spec,
      template: "ubuntu-2404-kube-v1.35.0",
    });
  } finally {
    await one.close();
  }
});
