import { z } from "@hono/zod-openapi";
import { idField, textField, timestampField } from "../../http/contract/fields.ts";
import { pageSchema } from "../../http/contract/page.ts";
import { idSchema } from "../../http/contract/validate.ts";

const EXAMPLE = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  username: "mrc_02xkXLtYcRgMjnRpT3m9wV",
  created_at: "2026-11-21T09:00:00.000Z",
  last_used_at: null,
};

const credentialFields = z.object({
  id: idField("The credential."),
  cluster_id: idField("The cluster that pulls with it; it ends with the cluster."),
  username: textField(75, "The user name of a pull secret. It is no secret."),
  created_at: timestampField("When it was created."),
  last_used_at: timestampField("When it was last used, to the minute.").nullable(),
});

export const credentialRecord = credentialFields.openapi("RegistryCredential", { example: EXAMPLE });
export const credentialPage = pageSchema(credentialRecord, "RegistryCredentialPage");

const EXAMPLE_PASSWORD = `${EXAMPLE.username}${"0".repeat(49)}`;

export const createdCredentialRecord = credentialFields
  .extend({
    password: z
      .string()
      .max(75)
      .regex(/^mrc_[0-9A-Za-z]{71}$/)
      .openapi({ description: "Returned only once." }),
    docker_config_json: textField(
      2048,
      "The value of `.dockerconfigjson` in a Secret of the type kubernetes.io/dockerconfigjson.",
    ),
  })
  .openapi("CreatedRegistryCredential", {
    example: { ...EXAMPLE, password: EXAMPLE_PASSWORD, docker_config_json: '{"auths":{}}' },
  });

export const createCredentialBody = z
  .strictObject({ cluster_id: idSchema.openapi({ description: "A cluster of the organization." }) })
  .openapi("CreateRegistryCredential", { example: { cluster_id: EXAMPLE.cluster_id } });
