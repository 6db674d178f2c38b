/** The forms of a message by the code of its detail: each says what to do, in the words of REST. */
const FORMS: Readonly<Record<string, readonly RegExp[]>> = {
  required: [
    /^is required$/,
    /^must be a list of at least \d+$/,
    /^the token (carries no e-mail address|does not say that its e-mail address is verified); .+ the provider/,
  ],
  invalid_type: [
    /^must be (a list|true or false|a number|a whole number( from \d+ to \d+)?|null|an object|a string)$/,
    /^must have one of the forms in the API reference$/,
  ],
  out_of_range: [
    /^must be a whole number from \d+ to \d+$/,
    /^must be at (most|least) -?\d+$/,
    /^must be more than \d+$/,
    /^must be in the future$/,
    /^the quota is \d+, \d+ in use, \d+ more requested$/,
    /^there are as many (clusters|node pools) as there may be$/,
    /^must sum to at most \d+ cents, which is what the invoice has left$/,
    /^must use port \d+ or one from \d+ to \d+(; .+)?$/,
  ],
  too_long: [/^must have (from \d+ to|at most) \d+ characters?$/, /^must be .*\b\d+\b/],
  too_short: [
    /^must have from \d+ to \d+ characters$/,
    /^must not be empty(; leave it out)?$/,
    /^must be .*\b\d+\b/,
  ],
  not_ascending: [/^must be more than the entry before it$/],
  too_many: [/^must have at most \d+ (entry|entries)(, for .+)?$/],
  invalid_format: [/^must (be|have|hold|not) /],
  invalid_enum: [/^must be (?!one of $)/],
  immutable: [/^cannot be (changed|removed)/],
  unknown_field: [/^is not a field of this operation; (leave it out|did you mean `\w+`( or `\w+`){0,2}\?)$/],
  duplicate: [
    /^must be given once$/,
    /^is taken/,
    /^is a member or invited already$/,
    /^is mapped to the organization already$/,
    /^must not have two taints/,
  ],
  not_found: [/^must be /, /^is not /],
  invalid_cidr: [/^must hold blocks in CIDR notation, as 203\.0\.113\.7\/32; ".*" is none$/],
  not_incremental: [
    /^must come with a new version in (k8s_version|target_version): nothing else is forced$/,
    /^(the cluster already runs [\d.]+; )?must be (one of )?[\d., ]+: a higher patch of the same minor, or the next minor, of [\d.]+$/,
    /^(the cluster already runs [\d.]+; )?must be a higher patch of the same minor, or the next minor, of [\d.]+, and the platform has none right now$/,
  ],
  min_gt_desired: [/^must not be greater than desired_nodes$/],
  desired_gt_max: [/^must not be greater than max_nodes$/],
  min_gt_max: [
    /^must not be greater than max_\w+$/,
    /^no number of nodes fits the CPU and memory totals \(min_vcpus, /,
  ],
  not_https: [/^must be an https URL$/],
  embedded_credentials: [/^must not hold a user name or a password$/],
  private_address: [/^must not point at a private or internal address$/],
  unknown_event: [
    /^must be `\*` alone, or types without it$/,
    /^is no type of GET \/api\/v1\/webhook-events(; did you mean `[\w.*]+`( or `[\w.*]+`){0,2}\?)?$/,
  ],
  unsupported: [
    /^is not supported; leave it out, or ask the platform's operator \(".+"\)$/,
    /^must be left out with FOCUS, whose Tags hold the labels$/,
    /^must have \d+ or fewer different blocks, and has \d+; leave some out, or ask the platform's operator$/,
    /^is not available; (choose \w+((, \w+)* or \w+)?, or )?ask the platform's operator \(".+"\)$/,
  ],
  below_one_node: [/^must be 0 or cover at least one node/],
};

/** What no message may hold: words of the validator, of Kubernetes, of the custom resource, and wrong plurals. */
const FORBIDDEN: readonly RegExp[] = [
  /9007199254740991|1e\+?\d+|Infinity/,
  /well formed|of type|expected|regex|pattern|^Invalid|^Too /,
  /\b1 (characters|entries|nodes|items)\b/,
  /\b(minNodes|maxNodes|desiredNodes|minVCPUs|maxVCPUs|memoryGB|minMemoryGB|maxMemoryGB|displayName|nodeLabels|nodeTaints|spec)\b/,
  /finalizer|namespace|\buid\b|CustomResource|admission webhook/i,
  /\.$/,
];

/** What no text to tenants may hold: what only the platform's operator can act on, and wrong plurals. */
const NOT_FOR_TENANTS: readonly RegExp[] = [
  /finalizer/i,
  /\buids?\b/i,
  /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/,
  /\borg-[0-9a-f]{6,}/,
  /\b\w*(MachineSet|MachineDeployment|MachinePool|ControlPlane(?!\w)|KubeadmConfig|MachineTemplate)\b/,
  /\bDeployment\b/,
  /\bcluster\.x-k8s\.io|\bspec\.topology\b|\bstatus\.initialization\b|\bspec\.providerID\b/,
  /\b[A-Z]\w+(Cluster|Machine)\b/,
  /\b(BootstrapConfigReady|ControlPlaneAvailable|ControlPlaneInitialized|InfrastructureReady|NodeHealthy|WorkersAvailable)\b/,
  /object (has been|was) modified|requeue|precondition/i,
  /(?<!\w)\.(spec|status)\b/,
  /\b1 (node pools|nodes|machines|minutes|seconds|hours|days|characters|entries|items|accesses)\b/,
  /undefined|\[object|NaN/,
];

/** Why a text must not reach tenants; undefined when it may. */
export function findTenantTextFault(text: string): string | undefined {
  const forbidden = NOT_FOR_TENANTS.find((pattern) => pattern.test(text));
  return forbidden && `holds ${forbidden}`;
}

/** Why a message has no allowed form; undefined when it has one. */
export function findFormFault(code: string, message: string): string | undefined {
  const forbidden = FORBIDDEN.find((pattern) => pattern.test(message));
  if (forbidden !== undefined) return `holds ${forbidden}`;
  return FORMS[code]?.some((form) => form.test(message)) ? undefined : `has no form of ${code}`;
}
