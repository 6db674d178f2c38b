import { expect, test } from "vitest";
import { REQUIRED_VALUES, type Rendered, renderChart, type Values } from "../testing/chart.ts";

const SCANNER = {
  registry: { existingSecret: "marina-registry" },
  scanner: { enabled: true, image: { repository: "registry.example.com/scanner" } },
};

async function render(values: Values): Promise<Rendered[]> {
  const all = { ...REQUIRED_VALUES, ...SCANNER, crds: { enabled: false }, ...values };
  return (await renderChart("marina", "marina-least-rights", all)).objects;
}

interface Peer {
  namespaceSelector?: { matchLabels?: object };
  podSelector?: { matchLabels?: object };
  ipBlock?: { cidr: string };
}

interface Rule {
  to?: Peer[];
  ports?: { port: number }[];
}

function findPolicies(objects: Rendered[], type: "Ingress" | "Egress") {
  return objects.filter(({ kind, spec }) => kind === "NetworkPolicy" && spec.policyTypes.includes(type));
}

const AUTOSCALERS_ALONE = ["serviceaccounts", "deployments", "machinepools", "machinedeployments/scale"];

test.each<[string, Values, string[]]>([
  ["with an image of the autoscaler", {}, AUTOSCALERS_ALONE],
  ["without one", { operator: { clusterAutoscalerImage: "" } }, []],
])("what autoscalers alone need, the operator may do %s: %j", async (_, values, expected) => {
  const objects = await render(values);
  const role = objects.find(
    ({ kind, metadata }) => kind === "ClusterRole" && metadata.name === "marina-operator",
  );
  const resources = (role?.rules ?? []).flatMap((rule: { resources: string[] }) => rule.resources);
  expect(AUTOSCALERS_ALONE.filter((resource) => resources.includes(resource))).toEqual(expected);
  expect(resources).toContain("roles");
});

test("nothing reaches the Pods from every Namespace, unless the values say so", async () => {
  const selectors = (objects: Rendered[]) =>
    findPolicies(objects, "Ingress").flatMap(({ spec }) =>
      (spec.ingress ?? []).flatMap(({ from }: { from: Peer[] }) =>
        from.map((peer) => peer.namespaceSelector?.matchLabels ?? peer.podSelector?.matchLabels ?? "all"),
      ),
    );
  expect(selectors(await render({}))).toEqual([
    { "cloud.marina.dev/clients": "true" },
    expect.objectContaining({ "app.kubernetes.io/component": "test" }),
    { "cloud.marina.dev/monitoring": "true" },
    expect.objectContaining({ "app.kubernetes.io/component": "test" }),
  ]);
  const open = await render({ networkPolicies: { clients: { matchLabels: null } } });
  expect(selectors(open)[0]).toBe("all");
});

test.each<[string, object, string[]]>([
  ["the cluster alone, by default", {}, []],
  ["every address, with a load balancer", { type: "LoadBalancer" }, ["0.0.0.0/0", "::/0"]],
  [
    "the addresses that the load balancer lets through",
    { type: "LoadBalancer", loadBalancerSourceRanges: ["192.0.2.0/24"] },
    ["192.0.2.0/24"],
  ],
  ["every address, with ports of nodes", { type: "NodePort" }, ["0.0.0.0/0", "::/0"]],
])("the API is reached from %s", async (_name, service, expected) => {
  const policies = findPolicies(await render({ apiserver: { service } }), "Ingress");
  const policy = policies.find(({ metadata }) => metadata.name === "marina-apiserver");
  const peers: Peer[] = policy?.spec.ingress[0].from ?? [];
  expect(peers.flatMap(({ ipBlock }) => ipBlock?.cidr ?? [])).toEqual(expected);
});

/** Those of all Pods: without a policy of its own, one would reach nothing where the Namespace lets nothing out. */
const COMPONENTS = ["apiserver", "migrate", "operator", "scanner", "test", "uninstall-check"];

test("each Pod connects to everything but the metadata services of clouds, or to what the values name", async () => {
  const objects = await render({});
  const policies = findPolicies(objects, "Egress");
  const pods = objects.filter(({ kind, spec }) => kind === "Pod" || spec?.template !== undefined);
  const labels = pods.map(({ metadata }) => metadata.labels?.["app.kubernetes.io/component"]);
  expect(new Set(labels)).toEqual(new Set(COMPONENTS));
  const selected = policies.map(({ spec }) => spec.podSelector.matchLabels["app.kubernetes.io/component"]);
  expect(selected).toEqual(COMPONENTS);
  const peers = policies.map(({ spec }) => spec.egress.at(-1).to.slice(0, 2));
  const everywhere = { cidr: "0.0.0.0/0", except: expect.arrayContaining(["169.254.0.0/16"]) };
  expect(peers).toEqual(COMPONENTS.map(() => [{ namespaceSelector: {} }, { ipBlock: everywhere }]));
  // Without addresses, but not to the port of the metadata services.
  const ports = policies.flatMap(({ spec }) =>
    spec.egress.flatMap(({ to, ports = [] }: Rule) =>
      to === undefined ? ports.map(({ port }) => port) : [],
    ),
  );
  expect(new Set(ports)).toEqual(new Set([53, 443, 6443]));
  const own = [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }];
  const named = await render({
    networkPolicies: {
      apiserverEgress: own,
      operatorEgress: own,
      migrateEgress: own,
      scannerEgress: own,
      hooksEgress: own,
    },
  });
  expect(findPolicies(named, "Egress").map(({ spec }) => spec.egress)).toEqual(COMPONENTS.map(() => own));
});
