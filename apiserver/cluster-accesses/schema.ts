import { z } from "@hono/zod-openapi";
import { MAX_BINDING_NAME_LENGTH, MAX_FOREIGN_ADMIN_NAMES } from "../../shared/crd/cluster.ts";
import { MAX_ACCESS_TTL_SECONDS, MIN_ACCESS_TTL_SECONDS } from "../../shared/crd/cluster-access.ts";
import { wholeNumber } from "../../shared/crd/fields.ts";
import { idField, textField, timestampField } from "../http/contract/fields.ts";
import { pageSchema } from "../http/contract/page.ts";

/** `pending` waits for its certificate; `refused` never gets one, or has that of an earlier cluster; `revoking` is being deleted. */
export const ACCESS_STATUSES = ["pending", "active", "refused", "revoking"] as const;
const MAX_SUBJECT_LENGTH = 253;
const MAX_MESSAGE_LENGTH = 4096;
const MAX_KUBECONFIG_LENGTH = 65_536;

const EXAMPLE = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  subject: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
  email: "alice@example.com",
  api_token_id: null,
  status: "active" as const,
  status_message: null,
  ttl_seconds: 3600,
  created_at: "2026-11-21T09:00:00.000Z",
  expires_at: "2026-11-21T10:00:00.000Z",
};

const accessFields = z.object({
  id: idField("The access."),
  org_id: idField("The organization that the cluster belongs to."),
  cluster_id: idField("The cluster that it gives access to."),
  subject: textField(
    MAX_SUBJECT_LENGTH,
    "The user name in the cluster: a user's id, unless the platform's staff created it.",
    EXAMPLE.subject,
  ),
  email: textField(254, "The address of the member that it was issued to; null: no member.").nullable(),
  api_token_id: idField("The API token that requested it; null: none.").nullable(),
  status: z.enum(ACCESS_STATUSES).openapi({ description: "Summary of the state." }),
  status_message: textField(MAX_MESSAGE_LENGTH, "What it waits for, or why it is refused.").nullable(),
  ttl_seconds: z
    .int()
    .min(MIN_ACCESS_TTL_SECONDS)
    .max(MAX_ACCESS_TTL_SECONDS)
    .openapi({ description: "The requested lifetime in seconds." }),
  created_at: timestampField("When it was requested."),
  expires_at: timestampField("When it expires."),
});

export const accessRecord = accessFields.openapi("ClusterAccess", { example: EXAMPLE });
export const accessPage = pageSchema(accessRecord, "ClusterAccessPage");

export const issuedKubeconfig = accessFields
  .extend({
    kubeconfig: textField(
      MAX_KUBECONFIG_LENGTH,
      "The kubeconfig, as YAML. It is returned only here.",
      "apiVersion: v1\nkind: Config\n",
    ),
  })
  .openapi("IssuedKubeconfig", { example: { ...EXAMPLE, kubeconfig: "apiVersion: v1\nkind: Config\n" } });

export const issueKubeconfigBody = z
  .strictObject({
    ttl_seconds: wholeNumber(MIN_ACCESS_TTL_SECONDS, MAX_ACCESS_TTL_SECONDS).openapi({
      description: "Seconds until it expires, from ten minutes to seven days.",
      example: 3600,
    }),
  })
  .openapi("IssueKubeconfig", { example: { ttl_seconds: 3600 } });

/** What no right of Marina's shows, and no revocation ends. */
export const FOREIGN_NOTE =
  "Kubernetes lets a cluster-admin plant rights that outlast the kubeconfig they were made with: bindings for any name, ServiceAccounts and their tokens, certificates that the cluster signs, and workloads and webhooks that run with such rights. Nothing in them says whose they are, so Marina cannot end them. Look through them when a member leaves.";

export const foreignAccesses = z
  .object({
    org_id: idField("The organization that the cluster belongs to."),
    cluster_id: idField("The cluster."),
    count: z
      .int()
      .min(0)
      .max(10_000_000)
      .nullable()
      .openapi({ description: "How many bindings there are; null: they have not been read yet." }),
    names: z
      .array(textField(MAX_BINDING_NAME_LENGTH, "The binding.", "ci-deployer"))
      .max(MAX_FOREIGN_ADMIN_NAMES)
      .openapi({
        description: `The first ${MAX_FOREIGN_ADMIN_NAMES} of them: names of ClusterRoleBindings, and of RoleBindings as namespace/name.`,
      }),
    observed_at: timestampField(
      "When they were first seen as they are. They are read every ten minutes.",
    ).nullable(),
    note: textField(1000, "What Kubernetes lets an administrator of the cluster do.", FOREIGN_NOTE),
  })
  .openapi("ForeignAccesses", {
    example: {
      org_id: EXAMPLE.org_id,
      cluster_id: EXAMPLE.cluster_id,
      count: 1,
      names: ["ci-deployer"],
      observed_at: "2026-11-21T09:00:00.000Z",
      note: FOREIGN_NOTE,
    },
  });
