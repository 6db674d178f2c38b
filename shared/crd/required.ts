import { listFields, type Requirement } from "../kube/required-kinds.ts";
import { resourceDefinitions } from "./definitions.ts";
import { buildObjectSchema } from "./manifest.ts";

/** Marina's own kinds, with every field that this program knows. */
export function requireOwnKinds(): Requirement {
  return {
    kinds: resourceDefinitions.map((definition) => ({
      kind: definition.kind,
      fields: listFields(buildObjectSchema(definition)),
    })),
    remedy:
      "install those of this version (`helm upgrade` with crds.enabled, or `kubectl apply --server-side -f crds/`)",
    newerRemedy: "upgrade this program to the version that they came with",
  };
}
