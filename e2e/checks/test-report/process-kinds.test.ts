import { expect, test } from "vitest";
import { kindOfProcess } from "./process-kinds.ts";

test.each([
  ["/x/kube-apiserver --etcd-servers=http://127.0.0.1:1", "management: kube-apiserver"],
  ["/x/kube-apiserver-v1.34.9 --etcd-servers=y --etcd-prefix=/tenants/org-1/a", "tenants: kube-apiserver"],
  ["/x/kube-controller-manager --kubeconfig=/run/kubeconfig", "management: kube-controller-manager"],
  [
    "/x/kube-scheduler --kubeconfig=/run/tenants/org-1.a/kube-scheduler.kubeconfig",
    "tenants: kube-scheduler",
  ],
  ["/x/capi-core --diagnostics-address=127.0.0.1:1", "management: Cluster API"],
  ["postgres: marina marina 127.0.0.1(4242) idle", "Postgres"],
  ["/x/postgres -D /run/data", "Postgres"],
  ["node /x/dist/apiserver.js", "API server"],
  ["node --heap-growing-percent=20 /x/dist/operator.js", "operator"],
  ["node e2e/platform/local-provider/main.ts", "local provider"],
  ["/usr/bin/node /x/node_modules/vitest/dist/workers/forks.js", "test workers"],
  ["node /x/node_modules/.bin/vitest run", "test runner"],
  ["/go/pkg/tool/linux_amd64/link -o a", "Go builds"],
  ["/tools/helm template charts/marina", "helm"],
  ["git status", "git"],
  ["", "unknown"],
])("%s is %s", (commandLine, kind) => {
  expect(kindOfProcess(commandLine)).toBe(kind);
});
