import { readFileSync } from "node:fs";
import { createServer } from "node:https";

const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

/**
 * Simulates the API servers of all tenants on one port: it serves probes, has no bindings and accepts every create.
 * Arguments: port, certificate and key.
 */
const [port, certFile = "", keyFile = ""] = process.argv.slice(2);
const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };

createServer(tls, (request, response) => {
  request.resume();
  const isList = request.method === "GET" && request.url?.startsWith(BINDINGS) === true;
  const isCreate = request.method === "POST";
  const body = isList
    ? { kind: "ClusterRoleBindingList", metadata: { resourceVersion: "1" }, items: [] }
    : { kind: "ClusterRoleBinding", metadata: { name: "any", resourceVersion: "1" } };
  response.writeHead(isCreate ? 201 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}).listen(Number(port), "127.0.0.1");
