import { describe, expect, test } from "vitest";
import { ANNOTATION_UPGRADE_FORCE } from "../../../shared/crd/names.ts";
import type { PlanCapabilities } from "../../../shared/crd/published-config.ts";
import type { UpgradeCheck } from "../../../shared/tenant/upgrade/upgrade-check.ts";
import type { Permission } from "../../http/authorization/permissions.ts";
import type { ProjectedCluster } from "../../resources/project/index.ts";
import type { TenantReader } from "../tenant-reader.ts";
import {
  type CheckedUpgrade,
  decideForce,
  findBlockWarnings,
  findUnsupportedByClass,
  requireUnblocked,
} from "../upgrade-decision.ts";
import { checkUpgrade, presentChecks } from "./enforce.ts";

const BLOCKING: UpgradeCheck = {
  check: "pods_not_evictable",
  severity: "blocking",
  object: { kind: "PodDisruptionBudget", namespace: "shop", name: "web" },
  message: "It allows no eviction.",
  fix: "Run more replicas.",
};
const WARNING: UpgradeCheck = { ...BLOCKING, check: "certificate_ends", severity: "warning" };
const SPEC = { version: "1.34.2", publicEndpoint: true };
const ENFORCE = { ...SPEC, upgradeChecks: "Enforce" } as const;
const FORCE = { reason: "a test" };
const upgrade = (change: Partial<CheckedUpgrade> = {}): CheckedUpgrade => ({
  field: "target_version",
  target: "1.35",
  force: undefined,
  version: "1.35.1",
  checks: [BLOCKING, WARNING],
  ...change,
});
const withRights = (...rights: Permission[]) => ({ rights: new Set<Permission>(rights) });
const cluster = (change: object = {}) =>
  ({ object: { metadata: {}, spec: ENFORCE, status: { version: "1.34.2" }, ...change } }) as ProjectedCluster;

describe("an upgrade", () => {
  test.each<[string, object, CheckedUpgrade]>([
    ["that is only warned of", SPEC, upgrade()],
    ["of a cluster that says so", { ...SPEC, upgradeChecks: "Warn" }, upgrade()],
    ["without a check that blocks", ENFORCE, upgrade({ checks: [WARNING] })],
    ["of which nothing is known", ENFORCE, upgrade({ checks: { unknown: "no" } })],
    ["that is forced", ENFORCE, upgrade({ force: FORCE })],
  ])("%s is accepted", (_name, spec, checked) => {
    const desired = { ...SPEC, ...spec };
    expect(() => requireUnblocked(desired, "1.35.1", checked)).not.toThrow();
    expect(findBlockWarnings(desired, "1.35.1", checked)).toEqual([]);
  });

  test("that enforced checks block is refused with each object, and a dry run says the same", () => {
    const message = expect.stringMatching(
      /^The upgrade to Kubernetes 1\.35\.1 is blocked by 1 check: .* with force/,
    );
    expect(() => requireUnblocked(ENFORCE, "1.35.1", upgrade())).toThrow(
      expect.objectContaining({
        code: "upgrade_blocked",
        message,
        details: [
          {
            field: "target_version",
            code: "upgrade_blocked",
            message: "PodDisruptionBudget shop/web: It allows no eviction. Run more replicas.",
          },
        ],
      }),
    );
    expect(findBlockWarnings(ENFORCE, "1.35.1", upgrade())).toEqual([
      { field: "target_version", code: "upgrade_blocked", message },
    ]);
  });

  test("to another version than was checked is a conflict, and without a version nothing is asked", () => {
    const conflict = expect.objectContaining({ code: "conflict" });
    expect(() => requireUnblocked(ENFORCE, "1.35.2", upgrade())).toThrow(conflict);
    expect(() => requireUnblocked(ENFORCE, undefined, upgrade())).not.toThrow();
    expect(findBlockWarnings(ENFORCE, undefined, upgrade())).toEqual([]);
  });
});

test("checks are shown to who may look into the cluster, those of another version to nobody", () => {
  const present = (version: string | undefined, ...rights: Permission[]) =>
    presentChecks("warnings", withRights(...rights), upgrade(), version);
  expect(present("1.35.1", "clusters:access")).toEqual({ warnings: [BLOCKING, WARNING] });
  expect(present("1.35.1")).toEqual({ warnings: { unknown: "It takes the permission clusters:access." } });
  expect(present("1.35.2", "clusters:access")).toEqual({
    warnings: { unknown: "The cluster was changed meanwhile." },
  });
  expect(present(undefined, "clusters:access")).toEqual({});
});

describe("what an upgrade finds is read", () => {
  const requested = { field: "k8s_version", target: "1.35", force: undefined } as const;
  async function read(patch: object, spec: object, ...rights: Permission[]) {
    let reads = 0;
    const reader: TenantReader = {
      async read() {
        reads += 1;
        return { unknown: "no" };
      },
    };
    const merge = { outcome: "patch", patch } as const;
    const kube = { get: async () => undefined };
    await checkUpgrade(kube, reader, withRights(...rights), cluster({ spec }), () => merge, requested);
    return reads;
  }
  const NEW = { version: "1.35.1" };

  test.each<[string, object, object, Permission[], number]>([
    ["for who may see it", NEW, SPEC, ["clusters:upgrade", "clusters:access"], 1],
    ["for whom it is only enforced", NEW, ENFORCE, ["clusters:upgrade"], 1],
    [
      "where the same request enforces it",
      { ...NEW, upgradeChecks: "Enforce" },
      SPEC,
      ["clusters:upgrade"],
      1,
    ],
    ["not where nobody may see it", NEW, SPEC, ["clusters:upgrade"], 0],
    ["not for who may not upgrade", NEW, ENFORCE, ["clusters:access"], 0],
    ["not to go back to what runs", { version: "1.34.2" }, ENFORCE, ["clusters:upgrade"], 0],
    ["not without a new version", { displayName: "a" }, ENFORCE, ["clusters:upgrade", "clusters:access"], 0],
  ])("%s", async (_name, patch, spec, rights, expected) => {
    expect(await read(patch, spec, ...rights)).toBe(expected);
  });
});

describe("a force", () => {
  const held = { version: "1.34.2", conditions: [{ type: "UpgradeBlocked", status: "True" }] };
  const waiting = { spec: { ...ENFORCE, version: "1.35.1" } };
  const annotated = (value: string) => ({ metadata: { annotations: { [ANNOTATION_UPGRADE_FORCE]: value } } });

  test.each<[string, ReturnType<typeof cluster>, object, Partial<CheckedUpgrade>, object]>([
    ["is none where none is sent", cluster(), { version: "1.35.1" }, { force: undefined }, {}],
    ["counts for the new version", cluster(), { version: "1.35.1" }, {}, { value: "1.35.1 a test" }],
    [
      "counts for what checks hold",
      cluster({ ...waiting, status: held }),
      {},
      {},
      { value: "1.35.1 a test" },
    ],
    [
      "that stands already changes nothing",
      cluster({ ...waiting, ...annotated("1.35.1 a test") }),
      {},
      {},
      {},
    ],
  ])("%s", (_name, current, patch, change, { value }: { value?: string }) => {
    const expected = value === undefined ? {} : { [ANNOTATION_UPGRADE_FORCE]: value };
    expect(decideForce(current, patch, upgrade({ force: FORCE, ...change }))).toEqual(expected);
  });

  test.each<[string, ReturnType<typeof cluster>, object, Partial<CheckedUpgrade>]>([
    ["without a version", cluster({ ...waiting, status: held }), {}, { target: undefined }],
    [
      "of a held version that the object names without its patch",
      cluster({ spec: { ...ENFORCE, version: "1.35" }, status: held }),
      {},
      {},
    ],
    ["of a version that nothing holds", cluster(waiting), {}, {}],
    ["with the version that runs", cluster({ ...waiting, status: held }), { version: "1.34.2" }, {}],
    [
      "with another reason than the one that stands",
      cluster({ ...waiting, ...annotated("1.35.1 b") }),
      {},
      {},
    ],
  ])("%s is 422", (_name, current, patch, change) => {
    expect(() => decideForce(current, patch, upgrade({ force: FORCE, ...change }))).toThrow(
      expect.objectContaining({
        status: 422,
        details: [expect.objectContaining({ field: "force", code: "not_incremental" })],
      }),
    );
  });
});

describe("an upgrade that brings another cluster class", () => {
  const no = (what: string) => ({ no: `The class does not support ${what}.` });
  const lacking: PlanCapabilities = {
    class: "standard-v2",
    authorizedCIDRs: no("authorized CIDRs"),
    apiServerRateLimit: no("a rate limit"),
    privateEndpoint: no("a private endpoint"),
  };
  const using = {
    publicEndpoint: false,
    network: {
      authorizedCIDRs: ["203.0.113.0/24", "198.51.100.0/24"],
      apiServerRateLimit: { maxConnectionsPerSecond: 5, burst: 10 },
    },
  };
  const running = (spec: object, status: object = {}) =>
    cluster({ spec: { ...SPEC, ...spec }, status: { clusterClass: "standard-v1", ...status } });
  const waiting = (rule: string, reason = "UnsupportedByClass") => ({
    field: `network.${rule}`,
    reason,
    message: "No.",
  });

  test("is refused at the version for each that it uses and the class lacks", () => {
    const refused = findUnsupportedByClass(running(using), lacking, "k8s_version");
    expect(refused.map(({ field, code }) => [field, code])).toEqual(
      Array.from({ length: 3 }, () => ["k8s_version", "unsupported"]),
    );
    expect(refused.map(({ message }) => message)).toEqual(
      ["authorized_cidrs", "api_server_rate_limit", "public_endpoint"].map((field) =>
        expect.stringContaining(
          `would bring the cluster class standard-v2, which lacks what the cluster uses: ${field} is not`,
        ),
      ),
    );
    const short = { class: "standard-v2", maxAuthorizedCIDRs: 1 };
    expect(findUnsupportedByClass(running(using), short, "target_version")).toMatchObject([
      { field: "target_version", message: expect.stringContaining("1 or fewer different blocks") },
    ]);
  });

  test.each<[string, ProjectedCluster, PlanCapabilities | undefined]>([
    ["uses nothing of it", running({}), lacking],
    ["has that class already", running(using, { clusterClass: "standard-v2" }), lacking],
    ["was not made", running(using, { clusterClass: undefined }), lacking],
    [
      "has not in force what it lacks",
      running(
        { network: using.network },
        { unapplied: [waiting("authorizedCIDRs"), waiting("apiServerRateLimit")] },
      ),
      lacking,
    ],
    ["is of a plan of which nothing is known", running(using), undefined],
    ["is of a plan without a class", running(using), { class: no("the plan") }],
  ])("of a cluster that %s is accepted", (_, current, capabilities) => {
    expect(findUnsupportedByClass(current, capabilities, "k8s_version")).toEqual([]);
  });

  test.each([
    [waiting("authorizedCIDRs"), ["api_server_rate_limit"]],
    [waiting("authorizedCIDRs", "AuthorizedCIDRsUnavailable"), ["api_server_rate_limit"]],
    [waiting("apiServerRateLimit"), ["authorized_cidrs"]],
    [waiting("authorizedCIDRs", "RejectedByClusterAPI"), ["authorized_cidrs", "api_server_rate_limit"]],
  ])("is refused for the network rule beside the one that waits: %o", (part, fields) => {
    const current = running({ network: using.network }, { unapplied: [part] });
    const refused = findUnsupportedByClass(current, lacking, "k8s_version");
    expect(refused.map(({ message }) => /uses: (\w+)/.exec(message)?.[1])).toEqual(fields);
  });
});
