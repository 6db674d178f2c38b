import { beforeAll, describe, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { capiClusterKind } from "../testing/custom-resources.ts";
import { setUp } from "../testing/set-up.ts";
import { createTenant } from "../testing/tenant.ts";
import { FLUX, type Managed, openThreeWays, type Row, type Way } from "../testing/three-ways.ts";

const ways = setUp(openThreeWays);

const CLUSTER_ROWS: readonly Row[] = [
  {
    field: "authorizedCIDRs",
    wire: "authorized_cidrs",
    good: ["203.0.113.0/24", "2001:db8::/32"],
    bad: ["203.0.113.7"],
  },
  {
    field: "apiServerRateLimit",
    wire: "api_server_rate_limit",
    good: { maxConnectionsPerSecond: 5, burst: 10 },
    wireGood: { max_connections_per_second: 5, burst: 10 },
    bad: { maxConnectionsPerSecond: 0, burst: 10 },
    wireBad: { max_connections_per_second: 0, burst: 10 },
    names: "api_server_rate_limit.max_connections_per_second",
  },
];

describe("every mutable field of a cluster, by REST, kubectl and Flux", () => {
  const managed = {} as Record<Way, Managed>;
  const SPEC = { version: "1.34.2", plan: "scale", publicEndpoint: true };

  beforeAll(async () => {
    const body = { name: "c-rest", k8s_version: "1.34.2", plan: "scale" };
    const created = await ways.alice.request("POST", ways.clusters, body);
    const objects = await ways.kube.listAll(clusterKind, { namespace: ways.namespace });
    const own = objects.find(({ metadata }) => metadata.labels?.[LABEL_ID] === created.body.id);
    managed.rest = { name: own?.metadata.name ?? "", path: `${ways.clusters}/${created.body.id}`, spec: {} };
    for (const way of ["kubectl", "flux"] as const) {
      const name = `c-${way}`;
      const spec = { displayName: name, ...SPEC };
      await ways.apply(way, ways.manifest("Cluster", name, spec));
      managed[way] = { name, path: `${ways.clusters}/${await ways.findId(clusterKind, name)}`, spec };
      await ways.waitUntilServed(managed[way].path);
    }
  });

  async function readNetwork(way: Way) {
    return (await ways.kube.get(clusterKind, ways.namespace, managed[way].name))?.spec.network ?? {};
  }

  const network: Record<string, unknown> = {};

  test.each(CLUSTER_ROWS)("$wire: the same object, the same record", async (row) => {
    const { body: now } = await ways.alice.request("GET", `${managed.rest.path}/network`);
    const body = { ...now, [row.wire]: row.wireGood ?? row.good };
    const response = await ways.alice.request("PUT", `${managed.rest.path}/network`, body);
    expect([response.status, response.body[row.wire]]).toEqual([200, row.wireGood ?? row.good]);
    network[row.field] = row.good;
    for (const way of ["kubectl", "flux"] as const) {
      managed[way].spec = { ...managed[way].spec, network: { ...network } };
      await ways.apply(way, ways.manifest("Cluster", managed[way].name, managed[way].spec));
      expect(await readNetwork(way)).toEqual(await readNetwork("rest"));
      await waitFor("REST to show it", async () => {
        const shown = await ways.alice.request("GET", `${managed[way].path}/network`);
        return JSON.stringify(shown.body[row.wire]) === JSON.stringify(response.body[row.wire]);
      });
    }
  });

  test.each(CLUSTER_ROWS)("$wire: the same refusal of the same bad value", async (row) => {
    const { body: now } = await ways.alice.request("GET", `${managed.rest.path}/network`);
    const body = { ...now, [row.wire]: row.wireBad ?? row.bad };
    const response = await ways.alice.request("PUT", `${managed.rest.path}/network`, body);
    expect([response.status, response.body.error.details[0].field]).toEqual([422, row.names ?? row.wire]);
    for (const way of ["kubectl", "flux"] as const) {
      const spec = { ...managed[way].spec, network: { ...network, [row.field]: row.bad } };
      await expect(ways.apply(way, ways.manifest("Cluster", managed[way].name, spec))).rejects.toThrow(
        row.field,
      );
    }
  });

  test("name and k8s_version: the same values, the same refusals", async () => {
    expect((await ways.alice.request("PUT", managed.rest.path, { name: "c-rest-2" })).body.name).toBe(
      "c-rest-2",
    );
    for (const [wire, field, bad] of [
      ["name", "displayName", "x".repeat(64)],
      ["k8s_version", "version", "latest"],
    ] as const) {
      const response = await ways.alice.request("PUT", managed.rest.path, { [wire]: bad });
      expect([response.status, response.body.error.details[0].field]).toEqual([422, wire]);
      for (const way of ["kubectl", "flux"] as const) {
        const spec = { ...managed[way].spec, [field]: bad };
        await expect(ways.apply(way, ways.manifest("Cluster", managed[way].name, spec))).rejects.toThrow(
          field,
        );
      }
    }
    for (const way of ["kubectl", "flux"] as const) {
      managed[way].spec = { ...managed[way].spec, displayName: `c-${way}-2` };
      await ways.apply(way, ways.manifest("Cluster", managed[way].name, managed[way].spec));
      await waitFor("REST to show the name", async () => {
        return (await ways.alice.request("GET", managed[way].path)).body.name === `c-${way}-2`;
      });
    }
  });

  test("labels: the same object, the same record, and the same refusal", async () => {
    const labels = { team: "web", "example.com/stage": "" };
    const reserved = { "cloud.marina.dev/team": "web" };
    const put = await ways.alice.request("PUT", managed.rest.path, { labels });
    expect([put.status, put.body.labels]).toEqual([200, labels]);
    const refused = await ways.alice.request("PUT", managed.rest.path, { labels: reserved });
    expect([refused.status, refused.body.error.details[0].field]).toEqual([422, "labels"]);
    for (const way of ["kubectl", "flux"] as const) {
      const wrong = { ...managed[way].spec, labels: reserved };
      await expect(ways.apply(way, ways.manifest("Cluster", managed[way].name, wrong))).rejects.toThrow(
        "labels",
      );
      managed[way].spec = { ...managed[way].spec, labels };
      await ways.apply(way, ways.manifest("Cluster", managed[way].name, managed[way].spec));
      await waitFor("REST to list it by its labels", async () => {
        const query = "?labels=team%3Dweb,example.com/stage,!other";
        const { body } = await ways.alice.request("GET", `${ways.clusters}${query}`);
        return body.items.some(({ id }: { id: string }) => managed[way].path.endsWith(id));
      });
    }
    const args = ["get", "clusters.cloud.marina.dev", "-n", ways.namespace, "-o", "wide"];
    expect((await kubectl(args)).stdout).toContain(JSON.stringify(labels).slice(1, -1).split(",")[0]);
  });

  test.each([
    { wire: "deletion_protection", field: "deletionProtection", values: [true, false], bad: "yes" },
    { wire: "expires_at", field: "expiresAt", values: ["2099-12-01T10:00:00.000Z"], bad: "tomorrow" },
  ] as const)("$wire: the same object, the same record, and the same refusal", async (row) => {
    const { wire, field, values, bad } = row;
    const readField = async (way: Way) =>
      (await ways.kube.get(clusterKind, ways.namespace, managed[way].name))?.spec[field];
    const refused = await ways.alice.request("PUT", managed.rest.path, { [wire]: bad });
    expect([refused.status, refused.body.error.details[0].field]).toEqual([422, wire]);
    for (const value of values) {
      const put = await ways.alice.request("PUT", managed.rest.path, { [wire]: value });
      expect([put.status, put.body[wire], await readField("rest")]).toEqual([200, value, value]);
      for (const way of ["kubectl", "flux"] as const) {
        const { name, path, spec } = managed[way];
        const wrong = ways.manifest("Cluster", name, { ...spec, [field]: bad });
        await expect(ways.apply(way, wrong)).rejects.toThrow(field);
        managed[way].spec = { ...spec, [field]: value };
        await ways.apply(way, ways.manifest("Cluster", name, managed[way].spec));
        expect(await readField(way)).toBe(value);
        await waitFor("REST to show it", async () => {
          return (await ways.alice.request("GET", path)).body[wire] === value;
        });
      }
    }
  });

  test("upgrade_checks: the same object, the same record, and the same refusal", async () => {
    const put = (value: string) => ways.alice.request("PUT", managed.rest.path, { upgrade_checks: value });
    expect((await put("enforce")).body.upgrade_checks).toBe("enforce");
    expect((await ways.kube.get(clusterKind, ways.namespace, managed.rest.name))?.spec.upgradeChecks).toBe(
      "Enforce",
    );
    const refused = await put("Enforce");
    expect([refused.status, refused.body.error.details[0].field]).toEqual([422, "upgrade_checks"]);
    for (const way of ["kubectl", "flux"] as const) {
      const wrong = { ...managed[way].spec, upgradeChecks: "enforce" };
      await expect(ways.apply(way, ways.manifest("Cluster", managed[way].name, wrong))).rejects.toThrow(
        "upgradeChecks",
      );
      managed[way].spec = { ...managed[way].spec, upgradeChecks: "Enforce" };
      await ways.apply(way, ways.manifest("Cluster", managed[way].name, managed[way].spec));
      await waitFor("REST to show it", async () => {
        return (await ways.alice.request("GET", managed[way].path)).body.upgrade_checks === "enforce";
      });
    }
  });

  test("suspend: the same object, and the same answer to staff", async () => {
    const { apiUrl, tokens } = readStack();
    const staff = createTenant(apiUrl, tokens.staff);
    const isSuspended = async (way: Way) => {
      const { body } = await staff.request("GET", `/admin${managed[way].path}/suspension`);
      const condition = body.conditions?.find(({ type }: { type: string }) => type === "Suspended");
      return condition?.status === "True";
    };
    for (const suspend of [true, false]) {
      const path = `/admin${managed.rest.path}/suspension`;
      expect((await staff.request("PUT", path, { suspended: suspend })).status).toBe(200);
      const changed = await ways.kube.get(clusterKind, ways.namespace, managed.rest.name);
      expect(changed?.spec.suspend === true).toBe(suspend);
      for (const way of ["kubectl", "flux"] as const) {
        const spec = { ...managed[way].spec, suspend };
        await ways.apply(way, ways.manifest("Cluster", managed[way].name, spec));
        await waitFor("staff to see it", async () => (await isSuspended(way)) === suspend);
      }
    }
  });

  test("what a pipeline applies is refused to REST with 409 managed_elsewhere, naming it", async () => {
    const rename = await ways.alice.request("PUT", managed.flux.path, { name: "mine" });
    const open = await ways.alice.request("PUT", `${managed.flux.path}/network`, { authorized_cidrs: [] });
    for (const [response, wire] of [
      [rename, "name"],
      [open, "authorized_cidrs"],
    ] as const) {
      expect([response.status, response.body.error.code]).toEqual([409, "managed_elsewhere"]);
      expect(response.body.error.message).toContain(FLUX);
      expect(response.body.error.message).toContain(wire);
    }
    // REST owns what the pipeline does not apply.
    const rotated = await ways.alice.request("POST", `${managed.flux.path}/credentials/rotate`);
    expect(rotated.status).toBe(202);
  });

  test("clusterNetwork: kept by a change through REST, and refused to be changed or to overlap", async () => {
    for (const way of ["kubectl", "flux"] as const) {
      const name = `n-${way}`;
      const spec = {
        version: "1.34.2",
        clusterNetwork: { pods: ["172.16.0.0/16"], services: ["172.17.0.0/16"] },
      };
      await ways.apply(way, ways.manifest("Cluster", name, spec));
      const path = `${ways.clusters}/${await ways.findId(clusterKind, name)}`;
      await ways.waitUntilServed(path);
      expect((await ways.alice.request("PUT", path, { name: `${name}-2` })).status).toBe(200);
      const kept = await ways.kube.get(clusterKind, ways.namespace, name);
      expect(kept?.spec.clusterNetwork).toEqual(spec.clusterNetwork);
      const capiCluster = await waitFor("the networks in Cluster API", () =>
        ways.kube.get(capiClusterKind, ways.namespace, name),
      );
      expect(capiCluster.spec?.clusterNetwork).toEqual({
        pods: { cidrBlocks: ["172.16.0.0/16"] },
        services: { cidrBlocks: ["172.17.0.0/16"] },
      });
      for (const clusterNetwork of [
        { pods: ["172.18.0.0/16"] },
        { pods: ["172.16.0.0/12"], services: ["172.17.0.0/16"] },
      ]) {
        const change = ways.manifest("Cluster", name, { ...spec, clusterNetwork });
        await expect(ways.apply(way, change)).rejects.toThrow("clusterNetwork");
      }
    }
  });

  test("values that REST would refuse are shown as they are, and PUT with what GET returned changes nothing", async () => {
    const spec = { version: "v1.20.7", plan: "retired", publicEndpoint: false };
    await ways.apply("kubectl", ways.manifest("Cluster", "c-old", spec));
    const path = `${ways.clusters}/${await ways.findId(clusterKind, "c-old")}`;
    await ways.waitUntilServed(path);
    const { body } = await ways.alice.request("GET", path);
    expect(body).toMatchObject({
      name: "c-old",
      k8s_version: "1.20.7",
      plan: "retired",
      public_endpoint: false,
    });
    const again = await ways.alice.request("PUT", path, body);
    expect([again.status, again.body.generation]).toEqual([200, body.generation]);
    const old = { name: "c-new", k8s_version: "1.20.7", plan: "retired" };
    const refused = await ways.alice.request("POST", ways.clusters, old);
    expect(refused.status).toBe(422);
    expect(refused.body.error.details.map(({ field }: { field: string }) => field)).toContain("plan");
  });

  test("two objects with the same name are both served, and REST refuses the name to a third one", async () => {
    for (const name of ["same-1", "same-2"])
      await ways.apply("kubectl", ways.manifest("Cluster", name, { ...SPEC, displayName: "Same" }));
    const paths = await Promise.all(
      ["same-1", "same-2"].map(async (name) => `${ways.clusters}/${await ways.findId(clusterKind, name)}`),
    );
    await Promise.all(paths.map((path) => ways.waitUntilServed(path)));
    const { body } = await ways.alice.request("GET", `${ways.clusters}?name=same`);
    expect(body.items).toHaveLength(2);
    expect(
      (await ways.alice.request("POST", ways.clusters, { name: "SAME", k8s_version: "1.34" })).status,
    ).toBe(409);
  });
});
