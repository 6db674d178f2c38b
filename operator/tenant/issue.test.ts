import { json as readJson } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { createTestServers } from "../../shared/tenant/testing-server.ts";
import { requestCertificate, requestToken } from "./issue.ts";
import { createRequest, issueClientCertificate, signRequest } from "./sign.ts";

const { serve, connect, stopAll, authority } = await createTestServers();
afterEach(stopAll);

const { csr } = await createRequest("alice", "group");
const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 600_000) };
const sign = (commonName: string, organization: string) =>
  signRequest(csr, { ca: authority, commonName, organization, ...validity });
const ofOtherName = await sign("admin", "group");
const ofOtherGroup = await sign("alice", "system:masters");
const ofOtherKey = await issueClientCertificate({
  ca: authority,
  commonName: "alice",
  organization: "group",
  ...validity,
});
const toBase64 = (text: string) => Buffer.from(text).toString("base64");

interface Request {
  method: string;
  path: string;
  // biome-ignore lint/suspicious/noExplicitAny: the body of any request
  body: any;
}

type Answer = (request: Request) => { status?: number; body?: unknown } | undefined;

/** A server that answers with what `answer` says, else as an API server that accepts everything. */
async function play(answer: Answer): Promise<{ url: string; requests: Request[] }> {
  const requests: Request[] = [];
  const url = await serve(async (received, response) => {
    const { method = "", url: path = "" } = received;
    const hasBody = method === "POST" || method === "PATCH";
    const request = { method, path: path.replace(/\?.*/, ""), body: hasBody ? await readJson(received) : {} };
    requests.push(request);
    const { status = 200, body = request.body } = answer(request) ?? {};
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  return { url, requests };
}

const isRead = ({ method }: Request) => method === "GET";
const isApproval = ({ path }: Request) => path.endsWith("/approval");

function signedRequest(status: unknown) {
  const metadata = { name: "any" };
  return {
    body: { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata, status },
  };
}

describe("a certificate that a tenant's control plane signs", () => {
  test("is for our request, which asks for a client, ends in time, and is removed", async () => {
    const { certificate } = await sign("alice", "group");
    const { url, requests } = await play((request) =>
      isRead(request) ? signedRequest({ certificate: toBase64(certificate) }) : undefined,
    );
    expect(await connect(url, (tenant) => requestCertificate(tenant, csr, 3600))).toBe(certificate);
    expect(requests.map(({ method }) => method)).toEqual(["POST", "PATCH", "GET", "DELETE"]);
    expect(requests[0]?.body.spec).toEqual({
      request: toBase64(csr),
      signerName: "kubernetes.io/kube-apiserver-client",
      expirationSeconds: 3600,
      usages: ["digital signature", "client auth"],
    });
    expect(requests[1]?.body.status.conditions).toMatchObject([{ type: "Approved", status: "True" }]);
  });

  test.each<[string, Answer]>([
    ["the API does not exist", ({ method }) => (method === "POST" ? { status: 404 } : undefined)],
    ["approving is forbidden", (request) => (isApproval(request) ? { status: 403 } : undefined)],
    [
      "the request is denied",
      (request) => (isRead(request) ? signedRequest({ conditions: [{ type: "Denied" }] }) : undefined),
    ],
    ["no signer answers", (request) => (isRead(request) ? signedRequest({}) : undefined)],
  ])("is none when %s", async (_name, answer) => {
    const { url, requests } = await play(answer);
    expect(await connect(url, (tenant) => requestCertificate(tenant, csr, 3600))).toBeUndefined();
    const isCreated = requests.length > 1;
    expect(requests.at(-1)?.method).toBe(isCreated ? "DELETE" : "POST");
  });

  test.each<[string, unknown]>([
    ["of another name", { certificate: toBase64(ofOtherName.certificate) }],
    ["of another group", { certificate: toBase64(ofOtherGroup.certificate) }],
    ["of another key", { certificate: toBase64(ofOtherKey.certificate) }],
    ["that is none", { certificate: toBase64("-----BEGIN CERTIFICATE-----\nAAAA\n") }],
    ["that is no text", { certificate: { length: 7 } }],
    ["that is too long", { certificate: "A".repeat(40_000) }],
    ["with conditions that are none", { conditions: "Approved" }],
  ])("%s is refused", async (_name, status) => {
    const { url } = await play((request) => (isRead(request) ? signedRequest(status) : undefined));
    const asked = connect(url, (tenant) => requestCertificate(tenant, csr, 3600));
    await expect(asked).rejects.toMatchObject({ name: "KubeError", reason: "InvalidResponse" });
  });
});

describe("a token of a ServiceAccount", () => {
  const isToken = ({ path }: Request) => path.endsWith("/token");
  const expirationTimestamp = "2026-03-01T12:00:00Z";
  const ask = (url: string) => connect(url, (tenant) => requestToken(tenant, "one", 60));

  test("is of the account of this name, which may exist, and lives as long as Kubernetes allows at least", async () => {
    const { url, requests } = await play((request) =>
      isToken(request)
        ? { body: { status: { token: "a.b-c_d", expirationTimestamp } } }
        : { status: 409, body: { kind: "Status", reason: "AlreadyExists", message: "" } },
    );
    expect(await ask(url)).toEqual({ token: "a.b-c_d", expiresAt: new Date(expirationTimestamp) });
    expect(requests.map(({ path }) => path)).toEqual([
      "/api/v1/namespaces/kube-system/serviceaccounts",
      "/api/v1/namespaces/kube-system/serviceaccounts/one/token",
    ]);
    expect(requests[1]?.body.spec).toEqual({ expirationSeconds: 600 });
  });

  test.each([
    ["without an end", { token: "a" }],
    ["with an end that is no time", { token: "a", expirationTimestamp: "never" }],
    ["that would be another line of a kubeconfig", { token: "a\nserver: b", expirationTimestamp }],
    ["that is too long", { token: "a".repeat(20_000), expirationTimestamp }],
    ["that is no text", { token: ["a"], expirationTimestamp }],
  ])("%s is refused", async (_name, status) => {
    const { url } = await play((request) => (isToken(request) ? { body: { status } } : undefined));
    await expect(ask(url)).rejects.toMatchObject({ name: "KubeError", reason: "InvalidResponse" });
  });
});
