import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

interface Rule {
  protocol: string;
  fromPort: number;
  cidrBlocks: string[];
  ipv6CidrBlocks: string[];
}

/** `AuthorizeSecurityGroupIngress` refuses a request with one permission twice. */
test("EC2 is asked for no permission twice: the provider adds the cluster's own network to a private endpoint", () => {
  const file = join(import.meta.dirname, "testing-classes", "aws.yaml");
  const objects = parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS());
  const { spec } = objects.find(({ kind }) => kind === "AWSCluster");
  const { scheme, ingressRules } = spec.controlPlaneLoadBalancer;
  expect(scheme).toBe("internal");
  const own = {
    protocol: "tcp",
    fromPort: 6443,
    cidrBlocks: [spec.network.vpc.cidrBlock],
    ipv6CidrBlocks: [],
  };
  const permissions = [own, ...(ingressRules as Rule[])].flatMap(
    ({ protocol, fromPort, cidrBlocks, ipv6CidrBlocks }) =>
      [...cidrBlocks, ...ipv6CidrBlocks].map((network) => `${protocol} ${fromPort} ${network}`),
  );
  expect(permissions).toEqual([...new Set(permissions)]);
});
