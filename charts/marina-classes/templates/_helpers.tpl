{{/* An object stays when the release is uninstalled: clusters use it. */}}
{{- define "classes.metadata" -}}
name: {{ .name | quote }}
namespace: {{ .namespace | quote }}
labels:
  app.kubernetes.io/part-of: marina
annotations:
  helm.sh/resource-policy: keep
  {{- with .mayIgnoreAuthorizedCIDRs }}
  cloud.marina.dev/authorized-cidrs-enforcement: requested-only
  {{- end }}
  {{- with .authorizedCIDRFamilies }}
  cloud.marina.dev/authorized-cidrs-families: {{ . }}
  {{- end }}
  {{- with .infrastructureNames }}
  cloud.marina.dev/infrastructure-names: {{ . }}
  {{- end }}
  {{- with .clusterResourceSets }}
  cloud.marina.dev/cluster-resource-sets: {{ join ", " . | quote }}
  {{- end }}
{{- end }}

{{/* What kubeadm tells the kubelet of a machine. */}}
{{- define "classes.node" -}}
nodeRegistration:
  {{- with .nodeName }}
  name: {{ . | quote }}
  {{- end }}
  {{- with .criSocket }}
  criSocket: {{ . | quote }}
  {{- end }}
  {{- with .kubelet }}
  kubeletExtraArgs:
    {{- range $name, $value := . }}
    - { name: {{ $name | quote }}, value: {{ $value | quote }} }
    {{- end }}
  {{- end }}
{{- end }}

{{/* How kubeadm makes control planes and workers. With `externalCloud` nodes wait for a cloud controller manager. */}}
{{- define "classes.kubeadm" -}}
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata:
  {{- include "classes.metadata" . | nindent 2 }}
spec:
  template:
    spec:
      kubeadmConfigSpec:
        {{- if or .certSANs .externalCloud }}
        clusterConfiguration:
          {{- with .certSANs }}
          apiServer:
            certSANs: {{ toJson . }}
          {{- end }}
          {{- if .externalCloud }}
          controllerManager:
            extraArgs:
              - { name: cloud-provider, value: external }
          {{- end }}
        {{- end }}
        {{- with concat (.nodeCommands | default list) (.preCommands | default list) }}
        preKubeadmCommands: {{ toJson . }}
        {{- end }}
        initConfiguration:
          {{- include "classes.node" . | nindent 10 }}
        joinConfiguration:
          {{- include "classes.node" . | nindent 10 }}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata:
  {{- include "classes.metadata" . | nindent 2 }}
spec:
  template:
    spec:
      joinConfiguration:
        {{- include "classes.node" . | nindent 8 }}
      {{- with .nodeCommands }}
      preKubeadmCommands: {{ toJson . }}
      {{- end }}
{{- end }}

{{/*
Without a limit: Marina sets that of each pool, and KubeadmControlPlane replaces one machine after another and, once the
control plane is initialized, never the only one, and none without which etcd would lose its quorum.
*/}}
{{- define "classes.health" -}}
healthCheck:
  checks:
    nodeStartupTimeoutSeconds: 900
    unhealthyNodeConditions:
      - { type: Ready, status: Unknown, timeoutSeconds: 300 }
      - { type: Ready, status: "False", timeoutSeconds: 300 }
{{- end }}

{{/*
The variables that Marina sets, of those in the list `variables`. `sizes` are all {vcpus, memoryGB} on offer; empty = any that keeps
to `sizeRules` ({rule, message} in CEL). With
`fixedDisk` the disk of a pool cannot change. `subnetPrefix` is how every network of nodes begins.
*/}}
{{- define "classes.variables" -}}
- name: machine
  required: false
  schema:
    openAPIV3Schema:
      type: object
      required: [vcpus, memoryGB, diskGB]
      properties:
        vcpus: { type: integer, minimum: 1, maximum: 512 }
        memoryGB: { type: integer, minimum: 1, maximum: 8192 }
        diskGB: { type: integer, minimum: 1, maximum: 16384 }
      {{- if or .sizes .sizeRules .fixedDisk }}
      x-kubernetes-validations:
        {{- range .sizeRules }}
        - rule: {{ .rule | quote }}
          message: {{ .message | quote }}
        {{- end }}
        {{- with .sizes }}
        {{- $rules := list }}
        {{- $names := list }}
        {{- range . }}
        {{- $rules = append $rules (printf "(self.vcpus == %d && self.memoryGB == %d)" (int .vcpus) (int .memoryGB)) }}
        {{- $names = append $names (printf "%d vCPUs with %d GB" (int .vcpus) (int .memoryGB)) }}
        {{- end }}
        - rule: {{ join " || " $rules | quote }}
          message: {{ printf "no machine type has these vCPUs and this memory: on offer are %s" (join ", " $names) | quote }}
        {{- end }}
        {{- if .fixedDisk }}
        - rule: self.diskGB == oldSelf.diskGB
          message: "the disk of a node pool cannot change on this infrastructure: create another node pool with that disk, and delete this one"
        {{- end }}
      {{- end }}
{{- if has "publicEndpoint" .variables }}
- name: publicEndpoint
  required: false
  schema: { openAPIV3Schema: { type: boolean } }
{{- end }}
{{- if has "authorizedCIDRs" .variables }}
- name: authorizedCIDRs
  required: false
  schema:
    openAPIV3Schema:
      type: array
      maxItems: {{ .maxAuthorizedCIDRs | default 512 }}
      items: { type: string, maxLength: 43 }
{{- end }}
{{- if has "workerSubnet" .variables }}
- name: workerSubnet
  required: {{ has "workerSubnet" (.required | default list) }}
  schema:
    openAPIV3Schema:
      type: string
      maxLength: 18
      {{- with .subnetPrefix }}
      x-kubernetes-validations:
        - rule: {{ printf "self.startsWith('%s.')" . | quote }}
          message: {{ printf "is not in %s.0.0/16, by which this class gives API endpoints their addresses: `networks.nodes` of Marina must be that network" . | quote }}
      {{- end }}
{{- end }}
{{- end }}

{{/*
The ClusterClass of a provider. `kind` is the beginning of its kinds, `version` their API version, `patches` the path of a file
with the patches, which is read as it is. `families` is `ipv4` where the provider leaves other authorized CIDRs out. `names` is `per-namespace` where the provider makes and finds nothing by the name of a cluster alone.
*/}}
{{- define "classes.class" -}}
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata:
  {{- include "classes.metadata" (merge (dict "clusterResourceSets" .addOns "infrastructureNames" .names "authorizedCIDRFamilies" .families) .) | nindent 2 }}
spec:
  infrastructure:
    templateRef:
      apiVersion: infrastructure.cluster.x-k8s.io/{{ .version }}
      kind: {{ .kind }}ClusterTemplate
      name: {{ .name | quote }}
  controlPlane:
    templateRef:
      apiVersion: controlplane.cluster.x-k8s.io/v1beta2
      kind: KubeadmControlPlaneTemplate
      name: {{ .name | quote }}
    machineInfrastructure:
      templateRef:
        apiVersion: infrastructure.cluster.x-k8s.io/{{ .version }}
        kind: {{ .kind }}MachineTemplate
        name: {{ printf "%s-control-plane" .name | quote }}
    {{- include "classes.health" . | nindent 4 }}
  workers:
    machineDeployments:
      - class: default
        bootstrap:
          templateRef:
            apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
            kind: KubeadmConfigTemplate
            name: {{ .name | quote }}
        infrastructure:
          templateRef:
            apiVersion: infrastructure.cluster.x-k8s.io/{{ .version }}
            kind: {{ .kind }}MachineTemplate
            name: {{ printf "%s-worker" .name | quote }}
        {{- include "classes.health" . | nindent 8 }}
  variables:
    {{- include "classes.variables" . | nindent 4 }}
  patches:
    {{- .chartFiles.Get .patches | nindent 4 }}
    {{- with .morePatches }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end }}
