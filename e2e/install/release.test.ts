import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { messageOf } from "../../shared/program/errors.ts";
import { acceptVersionBefore } from "../contract/openapi/conformance.ts";
import { readStack, waitFor } from "../platform/stack/testing.ts";
import { createTenant, expectStatus, type Feed } from "../testing/tenant.ts";
import { PREVIOUS_VERSION, VERSION, writeMixedChart } from "./images.ts";
import { openRelease, type Release } from "./release.ts";
import { type SecondIssuer, startSecondIssuer } from "./second-issuer.ts";
import { openTenantClusters, type TenantClusters } from "./tenant-clusters.ts";
import { storyValues } from "./values.ts";

const stack = readStack();
const NAMESPACE = "marina-system";
const PROGRAMS = ["apiserver", "operator"];
let release: Release;
let clusters: TenantClusters;
let place: { orgID: string; clusterID: string };
let machines: string[];
let feed: Feed;
let secondIssuer: SecondIssuer;

beforeAll(async () => {
  acceptVersionBefore();
  secondIssuer = await startSecondIssuer();
  release = await openRelease(stack, NAMESPACE);
  clusters = await openTenantClusters(stack, release);
  place = { orgID: clusters.orgID, clusterID: await clusters.create("kept") };
  machines = await clusters.listMachines();
  feed = clusters.tenant().follow(`${pathOf(place)}/system-events`);
  await waitFor("the stream to be open", () => feed.opened > 0);
});
afterAll(() => {
  feed?.close();
  secondIssuer?.close();
});

/** The images of the running Pods, by program. */
async function readImages(): Promise<Record<string, string[]>> {
  const images: Record<string, string[]> = {};
  for (const program of PROGRAMS) {
    const selector = `--selector=app.kubernetes.io/component=${program}`;
    const path = "--output=jsonpath={range .items[*]}{.spec.containers[0].image} {end}";
    images[program] = (await release.kubectl(["get", "pods", selector, path])).trim().split(" ");
  }
  return images;
}

function bothOf(version: string): Record<string, string> {
  return { apiserver: version, operator: version };
}

const pathOf = ({ orgID, clusterID }: typeof place): string =>
  `/organizations/${orgID}/clusters/${clusterID}`;

/** Two replicas of each program have this version, and those of another version are deleted. */
async function expectVersions(versions: Record<string, string>): Promise<void> {
  const images = Object.entries(versions).map(([program, version]) => {
    const image = `marina/marina:${version}`;
    return [program, [image, image]];
  });
  await waitFor(`the versions ${JSON.stringify(versions)}`, async () =>
    isDeepStrictEqual(await readImages(), Object.fromEntries(images)),
  );
}

/** Reads as a tenant, again and again, while something else goes on, and at least 20 times. */
async function findFailuresDuring(action: () => Promise<void>): Promise<string[]> {
  const failures: string[] = [];
  let requests = 0;
  let isOver = false;
  const reading = (async () => {
    while (!isOver || requests < 20) {
      requests += 1;
      await clusters
        .tenant()
        .request("GET", pathOf(place))
        .then(
          ({ status }) => status !== 200 && failures.push(String(status)),
          (error: Error) => failures.push(`${error.message}: ${messageOf(error.cause)}`),
        );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  await action().finally(() => {
    isOver = true;
  });
  await reading;
  return failures;
}

/** The stream has been open or was opened again: an event of now arrives, and none was left out or came twice. */
async function expectUnbrokenFeed(): Promise<void> {
  const before = feed.events.length;
  const name = `empty-${before}`;
  const body = { name, vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 0, max_nodes: 1 };
  expectStatus(202, await clusters.tenant().call("createNodePool", { ...place, body }));
  await waitFor("a new event", () => feed.events.length > before);
  // Others carry the id of the event before them.
  const rows = feed.events.filter(({ event }) => event === "system-event" || event === "status");
  const ids = rows.map(({ id }) => BigInt(id));
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => (a < b ? -1 : 1)));
  expect(feed.events.filter(({ event }) => event === "gap")).toEqual([]);
}

describe("an installed release, with a tenant's cluster", () => {
  test("runs two replicas of each program, on two nodes", async () => {
    await expectVersions(bothOf(VERSION));
    for (const program of PROGRAMS) {
      const selector = `--selector=app.kubernetes.io/component=${program}`;
      const path = "--output=jsonpath={range .items[*]}{.spec.nodeName} {end}";
      const nodes = (await release.kubectl(["get", "pods", selector, path])).trim().split(" ").sort();
      expect(nodes).toEqual(["node-a", "node-b"]);
    }
  });

  test("is set back to the previous version: no request fails, no machine is rolled", async () => {
    const failures = await findFailuresDuring(() =>
      release.upgrade(storyValues(stack), inject("previousChart")),
    );
    expect(failures).toEqual([]);
    await expectVersions(bothOf(PREVIOUS_VERSION));
    expect(await clusters.listMachines()).toEqual(machines);
  });

  test("is upgraded: no request fails, the stream goes on without a gap, no machine is rolled", async () => {
    const failures = await findFailuresDuring(() => release.upgrade(storyValues(stack)));
    expect(failures).toEqual([]);
    await expectVersions(bothOf(VERSION));
    expect(await clusters.listMachines()).toEqual(machines);
    await expectUnbrokenFeed();
  });

  test("is rolled back by helm: no request fails, no machine is rolled", async () => {
    const failures = await findFailuresDuring(() => release.rollback());
    expect(failures).toEqual([]);
    await expectVersions(bothOf(PREVIOUS_VERSION));
    expect(await clusters.listMachines()).toEqual(machines);
    await expectUnbrokenFeed();
  });

  test.each([
    ["API server is", "apiserver", { operator: VERSION, apiserver: PREVIOUS_VERSION }],
    ["operator is", "operator", { operator: PREVIOUS_VERSION, apiserver: VERSION }],
    ["programs, and not the admission policies, are", "programs", bothOf(PREVIOUS_VERSION)],
    ["admission policies are", "policies", bothOf(VERSION)],
  ] as const)("works while the %s a version behind", async (_, behind, versions) => {
    await release.upgrade(storyValues(stack), writeMixedChart(dirname(stack.kubeconfig), behind));
    await expectVersions(versions);
    expect(await clusters.createScaleAndDeleteInAllWays(`older-${behind}`)).toEqual(["kept"]);
    expect(await clusters.listMachines()).toEqual(machines);
  });

  test("is not uninstalled while there are clusters, and says what to do first", async () => {
    await expect(release.uninstall()).rejects.toThrow("marina-uninstall-check");
    await expectVersions(bothOf(VERSION));
    const selector = "--selector=app.kubernetes.io/component=uninstall-check";
    const path = "--output=jsonpath={.items[*].status.containerStatuses[*].state.terminated.message}";
    const reason = await release.kubectl(["get", "pods", selector, path]);
    expect(reason).toMatch(/^There are clusters: org-.*Delete all clusters, .* uninstall the release then/s);
    await release.kubectl(["delete", "job", "marina-uninstall-check"]);
  });

  test("is uninstalled without hooks and installed again, with a second issuer: nothing is lost, no machine is rolled", async () => {
    await release.uninstall("--no-hooks");
    await waitFor(
      "its Pods to be gone",
      async () => (await release.kubectl(["get", "pods", "--output=name"])) === "",
    );
    expect(await clusters.listMachines()).toEqual(machines);
    await release.install(secondIssuer.addTo(storyValues(stack), clusters.orgID));
    await clusters.reconnect();
    const { items } = expectStatus(200, await clusters.tenant().call("listClusters", place));
    expect(items.map(({ id, name, status }) => ({ id, name, status }))).toEqual([
      { id: place.clusterID, name: "kept", status: "running" },
    ]);
    expect(await clusters.listMachines()).toEqual(machines);
    await release.test();
  });

  test("takes the staff of its second issuer, and a tenant who is a member by a group of the values", async () => {
    const apiUrl = await release.findApiUrl();
    const staff = createTenant(apiUrl, await secondIssuer.signStaff());
    const { body } = await staff.request("GET", `/admin/group-mappings?org_id=${clusters.orgID}`);
    expect(body.items).toMatchObject([
      { org_id: clusters.orgID, role: "viewer", managed_by: "configuration" },
    ]);
    const tenant = createTenant(apiUrl, await secondIssuer.signTenant());
    const me = expectStatus(200, await tenant.call("getMe", {}));
    expect(me).toMatchObject({
      principal: { email: "tenant@second.example.com", email_verified: true, realm_roles: [] },
      organizations: [{ id: clusters.orgID, role: "viewer" }],
    });
    expectStatus(200, await tenant.call("getCluster", place));
    const first = createTenant(apiUrl, stack.tokens.alice);
    expectStatus(200, await first.call("getCluster", place));
  });
});
