import { describe, expect, test } from "vitest";
import { z } from "zod";
import { renderOpenApi } from "./render.ts";

// The tables of the specification for clusters, node pools and network policies, row by row, against the document that
// clients are generated from; other tests check that requests and responses conform to it.
const schemaSchema = z.looseObject({
  required: z.array(z.string()).default([]),
  properties: z.record(z.string(), z.looseObject({})),
});
const mediaTypeSchema = z.looseObject({
  schema: z.looseObject({ $ref: z.string().optional() }).optional(),
  example: z.unknown().optional(),
});
const operationSchema = z.looseObject({
  operationId: z.string(),
  description: z.string().default(""),
  responses: z.record(
    z.string(),
    z.looseObject({ description: z.string(), content: z.record(z.string(), mediaTypeSchema).optional() }),
  ),
  parameters: z.array(z.looseObject({ name: z.string(), in: z.string() })).default([]),
});
const rendered = renderOpenApi();
const document = z
  .looseObject({
    components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
    paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  })
  .parse(JSON.parse(rendered));

const schemaOf = (name: string) => schemaSchema.parse(document.components.schemas[name]);
const CLUSTER = "/api/v1/organizations/{orgID}/clusters/{clusterID}";

function operationOf(method: string, path: string) {
  const operation = document.paths[`${CLUSTER}${path}`]?.[method];
  if (operation === undefined) throw new Error(`no ${method} ${path}`);
  return operation;
}

/** The facets of a property that the specification states. */
function facetsOf(name: string, field: string): Record<string, unknown> {
  const declared: Record<string, unknown> = schemaOf(name).properties[field] ?? {};
  const target = typeof declared.$ref === "string" ? declared.$ref.split("/").at(-1) : undefined;
  const property = target === undefined ? declared : schemaSchema.parse(document.components.schemas[target]);
  const names = ["type", "minimum", "maximum", "enum", "format"];
  const isWidth = (key: string, value: unknown) =>
    key === "format" && (value === "int32" || value === "int64");
  const facets = Object.entries(property).filter(([key]) => names.includes(key));
  return Object.fromEntries(facets.filter(([key, value]) => !isWidth(key, value)));
}

type Facets = Record<string, unknown>;
const uuid: Facets = { type: "string", format: "uuid" };
const time: Facets = { type: "string", format: "date-time" };
const text: Facets = { type: "string" };
const list: Facets = { type: "array" };
const within = (minimum: number, maximum: number): Facets => ({ type: "integer", minimum, maximum });
const orNull = (facets: Facets): Facets => ({ ...facets, type: [facets.type, "null"] });

describe("the node pool", () => {
  test.each<[string, boolean, Facets]>([
    ["id", true, uuid],
    ["cluster_id", true, uuid],
    ["name", true, text],
    ["vcpus", true, within(1, 128)],
    ["memory_gb", true, within(1, 512)],
    ["disk_gb", true, within(1, 2048)],
    ["min_nodes", true, within(0, 1000)],
    ["max_nodes", true, within(0, 1000)],
    ["desired_nodes", true, within(0, 1000)],
    ["min_vcpus", false, within(0, 128_000)],
    ["max_vcpus", false, within(1, 128_000)],
    ["min_memory_gb", false, within(0, 512_000)],
    ["max_memory_gb", false, within(1, 512_000)],
    ["node_labels", false, { type: "object" }],
    ["node_taints", false, list],
    ["drain_timeout_seconds", false, within(30, 3600)],
    ["scale_down_delay_seconds", false, within(60, 3600)],
    ["scale_down_utilization_percent", false, within(10, 90)],
    ["current_nodes", true, within(0, 1000)],
    ["first_ready_at", true, orNull(time)],
    ["status", true, { ...text, enum: ["provisioning", "ready", "scaling", "deleting", "failed"] }],
    ["status_message", true, orNull(text)],
    ["created_at", true, time],
    ["updated_at", true, time],
  ])("%s", (field, required, facets) => {
    expect(facetsOf("NodePool", field)).toEqual(facets);
    expect(schemaOf("NodePool").required.includes(field)).toBe(required);
  });

  test("has each of its states and no other one", () => {
    expect(facetsOf("NodePool", "status").enum).toHaveLength(5);
  });
});

describe("the cluster", () => {
  test.each<[string, boolean, Facets]>([
    [
      "status",
      true,
      { ...text, enum: ["provisioning", "running", "upgrading", "degraded", "deleting", "failed"] },
    ],
    ["public_endpoint", true, { type: "boolean" }],
    ["plan", true, orNull(text)],
    ["apiserver_url", false, text],
    ["current_version", false, text],
    ["worker_subnet", false, text],
  ])("%s", (field, required, facets) => {
    expect(facetsOf("Cluster", field)).toEqual(facets);
    expect(schemaOf("Cluster").required.includes(field)).toBe(required);
  });

  test("status has provisioning and a running state; a create takes the plans that are sold", () => {
    expect(facetsOf("Cluster", "status").enum).toEqual(expect.arrayContaining(["provisioning", "running"]));
    expect(facetsOf("CreateCluster", "plan").enum).toEqual(["dev", "starter", "growth", "scale", null]);
  });
});

describe("the network policy", () => {
  test.each<[string, boolean, Facets]>([
    ["cluster_id", true, uuid],
    ["authorized_cidrs", true, list],
    ["api_server_rate_limit", false, { type: "object" }],
    ["updated_at", true, time],
  ])("%s", (field, required, facets) => {
    expect(facetsOf("NetworkPolicy", field)).toEqual(facets);
    expect(schemaOf("NetworkPolicy").required.includes(field)).toBe(required);
  });

  test("a rate limit has both of its numbers, from 1", () => {
    expect([...schemaOf("ApiServerRateLimit").required].sort()).toEqual([
      "burst",
      "max_connections_per_second",
    ]);
    for (const field of ["burst", "max_connections_per_second"])
      expect(facetsOf("ApiServerRateLimit", field).minimum).toBe(1);
  });
});

describe("the bodies", () => {
  test("of PUT node pool have every mutable field, all optional", () => {
    const { required, properties } = schemaOf("UpdateNodePool");
    expect(required).toEqual([]);
    expect(Object.keys(properties)).toEqual(
      expect.arrayContaining([
        "name",
        "vcpus",
        "memory_gb",
        "disk_gb",
        "min_nodes",
        "max_nodes",
        "desired_nodes",
        "min_vcpus",
        "max_vcpus",
        "min_memory_gb",
        "max_memory_gb",
        "drain_timeout_seconds",
        "scale_down_delay_seconds",
        "scale_down_utilization_percent",
      ]),
    );
  });

  test.each([
    ["drain_timeout_seconds", 30, 3600],
    ["scale_down_delay_seconds", 60, 3600],
    ["scale_down_utilization_percent", 10, 90],
  ])("of PUT node pool take null for %s", (field, minimum, maximum) => {
    expect(facetsOf("UpdateNodePool", field)).toEqual(orNull(within(minimum, maximum)));
  });

  test.each([
    ["CreateCluster", "authorized_cidrs", "At most 256, for each is a rule of what stands in front"],
    ["SetNetworkPolicy", "authorized_cidrs", "At most 256, for each is a rule of what stands in front"],
    ["CreateWebhook", "url", "Other ports are refused, for they belong to services that take no webhooks"],
    ["UpdateWebhook", "url", "Other ports are refused, for they belong to services that take no webhooks"],
  ])("of %s says why its %s has a bound that the specification does not have", (name, field, reason) => {
    expect(schemaOf(name).properties[field]?.description).toContain(reason);
  });

  test("of PUT cluster, PUT network and POST upgrade require what cannot have a default, and no more", () => {
    expect(schemaOf("UpdateCluster").required).toEqual([]);
    expect(schemaOf("SetNetworkPolicy").required).toEqual(["authorized_cidrs"]);
    expect(schemaOf("UpgradeCluster").required).toEqual(["target_version"]);
  });
});

describe("the operations return what the specification says", () => {
  test.each<[section: string, method: string, path: string, statuses: string[], mediaType: string]>([
    ["4.5", "put", "/nodepools/{poolID}", ["200", "401", "404", "422"], "application/json"],
    ["4.6", "put", "", ["200", "401", "404", "409", "422"], "application/json"],
    ["4.7", "put", "/network", ["200", "401", "404", "422"], "application/json"],
    ["4.14", "get", "/nodepools", ["200", "401", "404"], "application/json"],
    ["4.16", "get", "/network", ["200", "401", "404"], "application/json"],
    ["4.17", "get", "/kubeconfig", ["200", "401", "404", "409", "503"], "application/yaml"],
    ["4.20", "get", "/system-events", ["200", "401", "404", "503"], "text/event-stream"],
    ["4.21", "post", "/upgrade", ["202", "401", "404", "409", "422", "503"], "application/json"],
  ])(
    "section %s: %s %s, in the form that generators see first",
    (_section, method, path, statuses, mediaType) => {
      const { responses } = operationOf(method, path);
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(statuses));
      const [success = ""] = statuses;
      expect(Object.keys(responses[success]?.content ?? {})[0]).toBe(mediaType);
    },
  );

  test("the list of node pools takes cursor, limit and a label selector, and returns items and next_cursor", () => {
    const query = operationOf("get", "/nodepools").parameters.filter((one) => one.in === "query");
    expect(query.map(({ name }) => name).sort()).toEqual(["cursor", "labels", "limit"]);
    expect([...schemaOf("NodePoolPage").required].sort()).toEqual(["items", "next_cursor"]);
  });

  test("an accepted upgrade has the cluster and the counters, and the rest only where a pool cannot follow", () => {
    const { required, properties } = schemaOf("UpgradeAccepted");
    expect([...required].sort()).toEqual(["cluster", "workers_patched", "workers_total"]);
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(["workers_pending", "workers_error"]));
  });
});

test("every answer with a record has one schema, dry run or not, and names no field of a custom resource", () => {
  expect(rendered).not.toMatch(
    /"(ClusterDryRun|UpdatedCluster|NodePoolDryRun|UpdatedNodePool|UpgradeDryRun)"/,
  );
  const descriptions = [...rendered.matchAll(/"description": "((?:[^"\\]|\\.)*)"/g)].map(
    ([, description]) => description,
  );
  const words =
    /\b(minNodes|maxNodes|desiredNodes|\w+VCPUs|\w*[mM]emoryGB|displayName|nodeLabels|nodeTaints|metadata\.\w+)\b/;
  expect(descriptions.filter((description) => words.test(description ?? ""))).toEqual([]);
});

test("every list that has pages says its order", () => {
  const isPage = ({ schema }: z.output<typeof mediaTypeSchema> = {}) => {
    const name = schema?.$ref?.split("/").at(-1) ?? "";
    const properties = Object.keys(
      name === "" ? {} : schemaSchema.parse(document.components.schemas[name]).properties,
    );
    return ["items", "next_cursor"].every((field) => properties.includes(field));
  };
  const lists = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).filter(({ responses }) => isPage(responses["200"]?.content?.["application/json"])),
  );
  expect(lists.length).toBeGreaterThan(30);
  const silent = lists.filter(
    ({ description, responses }) =>
      !/ordered by|in the order of|(newest|oldest|smallest) first/i.test(
        `${description} ${responses["200"]?.description}`,
      ),
  );
  expect(silent.map(({ operationId }) => operationId)).toEqual([]);
});

test("an example of a record that is said to have a status has that one", () => {
  const responses = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap((operation) => Object.values(operation.responses));
  const said = responses.flatMap(({ description, content }) => {
    const [, status] = /the record, with status (\w+)/.exec(description) ?? [];
    return status === undefined ? [] : [{ status, example: content?.["application/json"]?.example }];
  });
  expect(said.length).toBeGreaterThanOrEqual(4);
  for (const { status, example } of said) expect(example).toMatchObject({ status });
});

// As openapi-generator names the constructor of a model.
test("no schema has the name of what makes another one in a Go client", () => {
  const names = Object.keys(document.components.schemas);
  expect(names.filter((name) => names.includes(`New${name}`))).toEqual([]);
});
