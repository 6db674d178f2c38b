import { z } from "@hono/zod-openapi";
import { idField, textField, timestampField } from "../../http/contract/fields.ts";
import { FOREIGN_NOTE } from "../schema.ts";
import { RIGHT_KINDS } from "../table.ts";

export const MAX_RIGHTS = 1000;
export const MAX_OPENED_CLUSTERS = 100;

const EXAMPLE = {
  member_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e10",
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  user_id: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
  email: "bob@example.com",
  removed_at: "2026-11-21T09:00:00.000Z",
  pending_since: null,
  completed_at: "2026-11-21T09:00:04.000Z",
  rights: [
    {
      kind: "cluster_access" as const,
      id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
      cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
      requested_at: "2026-11-21T09:00:00.000Z",
      ended_at: "2026-11-21T09:00:03.000Z",
    },
  ],
  cannot_end: {
    clusters: [
      {
        cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
        name: "shop",
        foreign_admins: 1,
      },
    ],
    note: FOREIGN_NOTE,
  },
};

const endedRight = z
  .object({
    kind: z.enum(RIGHT_KINDS).openapi({
      description:
        "What it was: an API token, a kubeconfig of its own, or the admin kubeconfig that was downloaded, which is rotated.",
    }),
    id: idField("The API token or the access; of admin credentials the cluster."),
    cluster_id: idField("The cluster that it opened; null: an API token.").nullable(),
    requested_at: timestampField("Since when it is to end."),
    ended_at: timestampField("When it was seen to have ended in the cluster too; null: pending.").nullable(),
  })
  .openapi("EndedRight");

export const offboardingRecord = z
  .object({
    member_id: idField("The former membership."),
    org_id: idField("The organization."),
    user_id: idField("The former member."),
    email: textField(254, "The address of the former member."),
    removed_at: timestampField("When the membership ended."),
    pending_since: timestampField("Since when the oldest right is pending; null: none is.").nullable(),
    completed_at: timestampField("When every right had ended; null: some are pending.").nullable(),
    rights: z
      .array(endedRight)
      .max(MAX_RIGHTS)
      .openapi({
        description: `What ended with the membership, the first ${MAX_RIGHTS}.`,
      }),
    cannot_end: z
      .object({
        clusters: z
          .array(
            z
              .object({
                cluster_id: idField("The cluster."),
                name: textField(100, "Its name."),
                foreign_admins: z.int().min(0).max(10_000_000).nullable().openapi({
                  description:
                    "How many bindings in it make administrators and were not made by Marina; null: they have not been read.",
                }),
              })
              .openapi("OpenedCluster"),
          )
          .max(MAX_OPENED_CLUSTERS)
          .openapi({
            description: `Clusters of which the person has ever got a kubeconfig, as far as the audit log reaches, the first ${MAX_OPENED_CLUSTERS}.`,
          }),
        note: textField(1000, "What the person may have made in them.", FOREIGN_NOTE),
      })
      .openapi("RemainingRights", { description: "What Marina cannot end." }),
  })
  .openapi("Offboarding", { example: EXAMPLE });
