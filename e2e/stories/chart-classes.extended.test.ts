import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readTable } from "../../shared/program/testing-tables.ts";
import { kubectl } from "../platform/stack/testing.ts";
import { findRefusal, renderChart, type Values } from "../testing/chart.ts";
import { installProviderDefinitions } from "../testing/infrastructure-provider.ts";
import { type Kubeconform, openKubeconform } from "../testing/kubeconform.ts";

const NAMESPACE = "classes";
const folder = mkdtempSync(join(tmpdir(), "marina-classes-"));
let kubeconform: Kubeconform;

beforeAll(async () => {
  await installProviderDefinitions();
  kubeconform = await openKubeconform(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

const flavours = [
  { vcpus: 2, memoryGB: 4, name: "small" },
  { vcpus: 8, memoryGB: 64, name: "large" },
];
const kubevirt = { enabled: true, image: "registry.example.com/disks/ubuntu" };
const openstack = {
  enabled: true,
  cloudSecret: "cloud",
  imagePrefix: "ubuntu-",
  flavours,
  controlPlane: { flavour: "large" },
};
const vsphere = {
  enabled: true,
  server: "vcenter.example.com",
  identity: "vcenter",
  datacenter: "one",
  network: "machines",
  endpointNetwork: "10.0.5",
  nodesNetwork: "10.64",
  templatePrefix: "ubuntu-",
};
const LONGEST_LISTS: Record<string, number> = { aws: 57, openstack: 512 };
const proxmox = { enabled: true, templateTag: "ubuntu" };
const gcp = {
  enabled: true,
  project: "platform",
  region: "europe-west3",
  imagePrefix: "projects/images/global/images/ubuntu-2404-",
  controlPlane: { instanceType: "n2-standard-2" },
};
const aws = { enabled: true, region: "eu-central-1", flavours, controlPlane: { instanceType: "m7i.large" } };

describe("every class names no field that the schemas of its provider do not know", () => {
  test.each<[string, Values, number]>([
    ["no class", {}, 0],
    ["Docker", { docker: { enabled: true } }, 1],
    [
      "Docker from a registry of its own",
      { docker: { enabled: true, image: "10.0.0.5/node", name: "a" } },
      1,
    ],
    ["KubeVirt", { kubevirt }, 1],
    [
      "KubeVirt with a storage class and another control plane",
      {
        kubevirt: { ...kubevirt, storageClass: "fast", controlPlane: { vcpus: 4, memoryGB: 8, diskGB: 60 } },
      },
      1,
    ],
    ["OpenStack", { openstack }, 1],
    [
      "OpenStack with a network, name servers and a key pair",
      {
        openstack: {
          ...openstack,
          cloudName: "west",
          externalNetwork: "6c91a0c8-1dd9-4d0f-b0ab-5a3b8a4c7e11",
          dnsNameservers: ["9.9.9.9", "8.8.8.8"],
          sshKeyName: "platform",
        },
      },
      1,
    ],
    ["OpenStack with an identity", { openstack: { ...openstack, cloudSecret: "", identity: "tenants" } }, 1],
    ["vSphere", { vsphere }, 1],
    [
      "vSphere with a thumbprint and every place",
      {
        vsphere: {
          ...vsphere,
          thumbprint: "AA:BB",
          datastore: "fast",
          folder: "tenants",
          resourcePool: "tenants",
          storagePolicyName: "gold",
          kubeVipImage: "10.0.0.5/kube-vip:v1",
        },
      },
      1,
    ],
    ["Proxmox", { proxmox }, 1],
    [
      "Proxmox with credentials, nodes and storage",
      {
        proxmox: {
          ...proxmox,
          credentials: { name: "proxmox", namespace: "classes" },
          allowedNodes: ["pve1", "pve2"],
          storage: "ceph",
          bridge: "vmbr1",
          bootDisk: "virtio0",
        },
      },
      1,
    ],
    ["AWS", { aws }, 1],
    [
      "AWS with an identity, images and a key",
      { aws: { ...aws, identity: "tenants", imageOwner: "123456789012", sshKeyName: "platform" } },
      1,
    ],
    ["Google Cloud", { gcp }, 1],
    ["Google Cloud with credentials", { gcp: { ...gcp, credentials: "google", diskType: "pd-ssd" } }, 1],
    ["all of them", { docker: { enabled: true }, kubevirt, openstack, vsphere, proxmox, aws, gcp }, 7],
  ])("%s", async (_, values, classes) => {
    const { objects } = await renderChart("marina-classes", NAMESPACE, values);
    expect(objects.filter(({ kind }) => kind === "ClusterClass")).toHaveLength(classes);
    expect(await kubeconform.findFaults(objects)).toEqual([]);
    for (const { metadata } of objects)
      expect(metadata).toMatchObject({
        namespace: NAMESPACE,
        annotations: { "helm.sh/resource-policy": "keep" },
      });
  });
});

describe("values are refused", () => {
  test.each<[string, Values, RegExp]>([
    ["with an unknown name", { hyperv: { enabled: true } }, /'hyperv' not allowed/],
    ["with an unknown name below", { docker: { enable: true } }, /'enable' not allowed/],
    ["with a name that is none of Kubernetes", { docker: { enabled: true, name: "Docker" } }, /name/],
    ["of KubeVirt without an image", { kubevirt: { enabled: true } }, /kubevirt\.image is required/],
    ["of OpenStack without flavours", { openstack: { ...openstack, flavours: [] } }, /flavours is required/],
    [
      "of OpenStack without credentials",
      { openstack: { ...openstack, cloudSecret: "" } },
      /openstack\.identity or openstack\.cloudSecret is required/,
    ],
    ["of OpenStack with two credentials", { openstack: { ...openstack, identity: "tenants" } }, /set one/],
    [
      "of OpenStack with half a flavour",
      { openstack: { ...openstack, flavours: [{ vcpus: 2, name: "small" }] } },
      /memoryGB/,
    ],
    [
      "of OpenStack with the name of a network in place of its ID",
      { openstack: { ...openstack, externalNetwork: "public" } },
      /externalNetwork/,
    ],
    [
      "of vSphere without the network of nodes",
      { vsphere: { ...vsphere, nodesNetwork: "" } },
      /vsphere\.nodesNetwork is required/,
    ],
    [
      "of vSphere with another network than a /16",
      { vsphere: { ...vsphere, nodesNetwork: "10.64.0.0/10" } },
      /nodesNetwork/,
    ],
    ["of Proxmox without a template", { proxmox: { enabled: true } }, /proxmox\.templateTag is required/],
    [
      "of Google Cloud with a family of other sizes",
      { gcp: { ...gcp, machineFamily: "e2" } },
      /machineFamily/,
    ],
    ["with an add-on that has no name", { gcp: { ...gcp, addOns: [""] } }, /addOns/],
    ["of AWS with no vCPUs", { aws: { ...aws, flavours: [{ ...flavours[0], vcpus: 0 }] } }, /vcpus/],
  ])("%s", async (_, values, expected) => {
    expect(await findRefusal("marina-classes", values)).toMatch(expected);
  });
});

describe("docs/operators/cluster-class.md says of each class what it has:", () => {
  const PAGE = "docs/operators/cluster-class.md";
  const docker = { enabled: true };
  const providers = readTable("docs/operators/versions.md", "# Supported versions").map(
    ([part = "", version]) => [part.toLowerCase().replace("google cloud", "gcp"), version],
  );
  const rowOf = (heading: string, name: string) =>
    readTable(PAGE, heading).find(([first]) => first === `\`${name}\``) ?? [];

  test.each(Object.entries({ docker, kubevirt, openstack, vsphere, proxmox, aws, gcp }))(
    "%s",
    async (name, given) => {
      const { objects } = await renderChart("marina-classes", NAMESPACE, { [name]: given });
      const clusterClass = objects.find(({ kind }) => kind === "ClusterClass");
      const variables = clusterClass?.spec.variables.map((variable: { name: string }) => variable.name);
      const version = clusterClass?.spec.infrastructure.templateRef.apiVersion.split("/")[1];
      const [, provider, , privateEndpoint, authorizedCIDRs] = rowOf(
        "## The classes of the chart marina-classes",
        name,
      );
      expect(provider).toMatch(new RegExp(`, ${version}$`));
      expect(privateEndpoint !== "refused").toBe(variables.includes("publicEndpoint"));
      expect(authorizedCIDRs !== "refused").toBe(variables.includes("authorizedCIDRs"));
      expect(variables).not.toContain("apiServerRateLimit");
      const list = clusterClass?.spec.variables[variables.indexOf("authorizedCIDRs")];
      expect(list?.schema.openAPIV3Schema.maxItems).toBe(LONGEST_LISTS[name]);
      const [, documented, newer, needed] = rowOf("### Versions of the providers", name);
      expect(documented).toBe(version);
      expect(newer).toMatch(/^none$|preview/);
      const [least = "0"] = needed?.match(/^[\d.]+(?= or newer)/) ?? [];
      const [, loaded = ""] = providers.find(([part]) => part === `${name} provider`) ?? [];
      expect(loaded.localeCompare(least, "en", { numeric: true })).toBeGreaterThanOrEqual(0);
    },
  );
});

test("docs/operators/install.md installs the provider whose definitions the tests load", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/operators/install.md"), "utf8");
  const [, version] = page.match(/clusterctl init --infrastructure openstack:v(\S+)/) ?? [];
  expect(readTable("docs/operators/versions.md", "# Supported versions")).toContainEqual([
    "OpenStack provider",
    version,
    "its definitions",
  ]);
});

test("every class has the API version that its provider stores", async () => {
  const values = { docker: { enabled: true }, kubevirt, openstack, vsphere, proxmox, aws, gcp };
  const { objects } = await renderChart("marina-classes", NAMESPACE, values);
  const path =
    "{range .items[*]}{.spec.names.kind} {.spec.group}/{.spec.versions[?(@.storage==true)].name};{end}";
  const { stdout } = await kubectl(["get", "crd", "--output", `jsonpath=${path}`]);
  const stored = new Map(stdout.split(";").map((line) => line.split(" ") as [string, string]));
  const templates = objects.filter(({ apiVersion }) => apiVersion.startsWith("infrastructure."));
  expect(templates.length).toBeGreaterThanOrEqual(21);
  for (const { apiVersion, kind } of templates) expect([kind, stored.get(kind)]).toEqual([kind, apiVersion]);
});

test("a class names the add-ons of its values, and nothing else does", async () => {
  const docker = { enabled: true, addOns: ["cilium", "ccm"] };
  const { objects } = await renderChart("marina-classes", NAMESPACE, { docker, proxmox });
  const named = objects.flatMap(({ kind, metadata }) => {
    const names = metadata.annotations?.["cloud.marina.dev/cluster-resource-sets"];
    return names === undefined ? [] : [[kind, metadata.name, names]];
  });
  expect(named).toEqual([["ClusterClass", "marina-docker-v1", "cilium, ccm"]]);
});

test("Pods on the workers of Google Cloud can take no token of the cloud controller's", async () => {
  const { objects } = await renderChart("marina-classes", NAMESPACE, {
    gcp: { ...gcp, serviceAccount: "cloud-controller@platform.iam.gserviceaccount.com" },
  });
  const templates = objects.filter(({ kind }) => kind === "GCPMachineTemplate");
  const accounts = templates.map(({ metadata, spec }) => [metadata.name, spec.template.spec.serviceAccounts]);
  expect(Object.fromEntries(accounts)).toEqual({
    "marina-gcp-v1-control-plane": {
      email: "cloud-controller@platform.iam.gserviceaccount.com",
      scopes: ["https://www.googleapis.com/auth/cloud-platform"],
    },
    "marina-gcp-v1-worker": {
      email: "default",
      scopes: [
        "https://www.googleapis.com/auth/logging.write",
        "https://www.googleapis.com/auth/monitoring.write",
      ],
    },
  });
});

test("kube-vip asks the API server of its own machine, for a machine that takes the address over does not have it yet", async () => {
  for (const values of [{ vsphere }, { proxmox }]) {
    const { objects } = await renderChart("marina-classes", NAMESPACE, values);
    const clusterClass = objects.find(({ kind }) => kind === "ClusterClass");
    const patch = clusterClass?.spec.patches.find(({ name }: { name: string }) => name === "kube-vip");
    const { template } = patch.definitions[0].jsonPatches[0].valueFrom;
    expect(template).toContain('{ name: kubernetes_addr, value: "kubernetes:6443" }');
    expect(template).toContain("{ name: hosts, mountPath: /etc/hosts }");
    expect(template).toContain("{ name: hosts, hostPath: { path: /etc/kube-vip.hosts, type: File } }");
    expect(template).toMatch(
      /- path: \/etc\/kube-vip.hosts\n(.*\n){2} +content: 127\.0\.0\.1 .*\bkubernetes\b/,
    );
  }
});
