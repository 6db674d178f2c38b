import type { ConfigMap, Secret } from "../../../shared/kube/core-kinds.ts";
import type { Container, EnvironmentVariable, Pod, Reference, Service } from "./kinds.ts";

/** A container cannot be started, for something that its specification names is missing; kubelet waits for it. */
export class ContainerConfigError extends Error {
  override readonly name = "ContainerConfigError";
}

/** The objects of the Pod's namespace. */
export interface Sources {
  secret(name: string): Secret | undefined;
  configMap(name: string): ConfigMap | undefined;
}

/**
 * The values of a Secret as text, or those of a ConfigMap. Undefined when it is missing and may be. Throws
 * ContainerConfigError.
 */
function readData(
  kind: "secret" | "configmap",
  { name, optional }: Reference,
  sources: Sources,
): Record<string, string> | undefined {
  const object = kind === "secret" ? sources.secret(name) : sources.configMap(name);
  if (object === undefined && optional !== true)
    throw new ContainerConfigError(`${kind} "${name}" not found`);
  if (kind === "configmap") return object?.data;
  const encoded = Object.entries(object?.data ?? {});
  return Object.fromEntries(encoded.map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
}

function readKey(
  kind: "secret" | "configmap",
  reference: Reference & { key: string },
  sources: Sources,
): string | undefined {
  const value = readData(kind, reference, sources)?.[reference.key];
  if (value === undefined && reference.optional !== true)
    throw new ContainerConfigError(`couldn't find key ${reference.key} in ${kind} "${reference.name}"`);
  return value;
}

/** A field of the Pod, by the path that a `fieldRef` has. Throws ContainerConfigError for one that is not supported. */
export function readField(pod: Pod, podIP: string, fieldPath: string): string {
  const { metadata, spec } = pod;
  const [, kind = "", key = ""] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(fieldPath) ?? [];
  if (kind !== "") return metadata[kind as "labels" | "annotations"]?.[key] ?? "";
  const fields: Record<string, string | undefined> = {
    "metadata.name": metadata.name,
    "metadata.namespace": metadata.namespace,
    "metadata.uid": metadata.uid,
    "spec.nodeName": spec.nodeName,
    "spec.serviceAccountName": spec.serviceAccountName,
    "status.podIP": podIP,
  };
  const value = fields[fieldPath];
  if (value === undefined) throw new ContainerConfigError(`the field ${fieldPath} is not supported`);
  return value;
}

/** Replaces $(NAME) by the variable's value; unknown ones stay, and $$ is a dollar. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$(\$|\(([^)]+)\))/g, (whole, escaped: string, name: string) =>
    escaped === "$" ? "$" : (variables[name] ?? whole),
  );
}

/** The variables by which kubelet describes the Services of its namespace to a container. */
export function composeServiceVariables(services: readonly Service[]): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const { metadata, spec } of services) {
    const [first] = spec.ports ?? [];
    if (first === undefined || !spec.clusterIP || spec.clusterIP === "None") continue;
    const prefix = metadata.name.toUpperCase().replaceAll("-", "_");
    variables[`${prefix}_SERVICE_HOST`] = spec.clusterIP;
    variables[`${prefix}_SERVICE_PORT`] = String(first.port);
    variables[`${prefix}_PORT`] = `tcp://${spec.clusterIP}:${first.port}`;
    for (const { name, port } of spec.ports ?? []) {
      if (name !== undefined)
        variables[`${prefix}_SERVICE_PORT_${name.toUpperCase().replaceAll("-", "_")}`] = String(port);
    }
  }
  return variables;
}

export interface EnvironmentInput {
  pod: Pod;
  podIP: string;
  container: Pick<Container, "env" | "envFrom">;
  sources: Sources;
  /** Variables before those of the container, which take precedence. */
  given: Readonly<Record<string, string>>;
}

function readVariable(variable: EnvironmentVariable, input: EnvironmentInput, soFar: Record<string, string>) {
  const { value, valueFrom } = variable;
  if (valueFrom?.fieldRef) return readField(input.pod, input.podIP, valueFrom.fieldRef.fieldPath);
  if (valueFrom?.secretKeyRef) return readKey("secret", valueFrom.secretKeyRef, input.sources);
  if (valueFrom?.configMapKeyRef) return readKey("configmap", valueFrom.configMapKeyRef, input.sources);
  if (valueFrom !== undefined)
    throw new ContainerConfigError(`the source of the variable ${variable.name} is not supported`);
  return expand(value ?? "", soFar);
}

/** The environment of a container. Throws ContainerConfigError, in the words of kubelet, when something is missing. */
export function composeEnvironment(input: EnvironmentInput): Record<string, string> {
  const variables: Record<string, string> = { ...input.given };
  for (const { prefix = "", secretRef, configMapRef } of input.container.envFrom ?? []) {
    const data =
      secretRef === undefined
        ? configMapRef && readData("configmap", configMapRef, input.sources)
        : readData("secret", secretRef, input.sources);
    for (const [key, value] of Object.entries(data ?? {})) variables[`${prefix}${key}`] = value;
  }
  for (const variable of input.container.env ?? []) {
    const value = readVariable(variable, input, variables);
    if (value !== undefined) variables[variable.name] = value;
  }
  return variables;
}
