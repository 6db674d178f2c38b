{{/* Labels of every object of a component: dict "root" $ "component" "apiserver". Those in "more" precede the common ones. */}}
{{- define "marina.labels" -}}
helm.sh/chart: {{ include "marina.labelValue" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
app.kubernetes.io/version: {{ include "marina.labelValue" .root.Chart.AppVersion | quote }}
{{ include "marina.selector" . }}
{{- with merge (dict) (.more | default dict) .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* An object of the whole cluster that a file has, with the labels that all objects have: dict "root" $ "object" {…}. */}}
{{- define "marina.withCommonLabels" -}}
{{- with .root.Values.commonLabels -}}
{{- $_ := set $.object.metadata "labels" (merge (dict) ($.object.metadata.labels | default dict) .) -}}
{{- end -}}
{{- toYaml .object -}}
{{- end }}

{{/* A version as the value of a label, in which "+" is not allowed: Flux adds "+<digest>" to the version of a chart. */}}
{{- define "marina.labelValue" -}}
{{- . | replace "+" "_" | trunc 63 | trimAll "-_." -}}
{{- end }}

{{- define "marina.selector" -}}
app.kubernetes.io/name: marina
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component | quote }}
{{- end }}

{{- define "marina.image" -}}
{{- include "marina.imageOf" (dict "root" . "image" .Values.image) -}}
{{- end }}

{{/* The name of an image: dict "root" $ "image" .Values.image. */}}
{{- define "marina.imageOf" -}}
{{- with .image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default ($.root.Chart.AppVersion | replace "+" "-") }}{{ end }}
{{- end -}}
{{- end }}

{{- define "marina.publicUrl" -}}
{{- .Values.publicUrl | default (printf "https://%s" .Values.host) -}}
{{- end }}

{{- define "marina.plans" -}}
{{- $plans := dict -}}
{{- range $slug, $plan := .Values.plans -}}
{{- $namespace := $plan.namespace | default $.Release.Namespace -}}
{{- $mapping := dict "class" $plan.class "namespace" $namespace "controlPlaneReplicas" (int $plan.controlPlaneReplicas) -}}
{{- with $plan.credentials }}{{ $_ := set $mapping "credentials" . }}{{ end -}}
{{- $_ := set $plans $slug $mapping -}}
{{- end -}}
{{- toJson $plans -}}
{{- end }}

{{/* V8's old space: three quarters of the memory limit, so that the process is never killed for garbage. */}}
{{- define "marina.heapMegabytes" -}}
{{- $limit := . | toString -}}
{{- if hasSuffix "Gi" $limit -}}{{ mulf (trimSuffix "Gi" $limit | float64) 768 | floor | int }}
{{- else if hasSuffix "Mi" $limit -}}{{ mulf (trimSuffix "Mi" $limit | float64) 0.75 | floor | int }}
{{- else -}}{{ fail (printf "limits.memory must end in Mi or Gi, got %s" $limit) }}
{{- end -}}
{{- end }}

{{/* A program that waits for the migration does not fail before it does. */}}
{{- define "marina.progressDeadlineSeconds" -}}
{{- add 600 (int .Values.migrate.deadlineSeconds) -}}
{{- end }}

{{/* The variable with the address of the database: dict "root" $ "secretKey" "url" "role" "…" "roleSecret" "…". */}}
{{- define "marina.databaseUrl" -}}
{{- if .root.Values.database.cloudNativePG.enabled -}}
- name: MARINA_DATABASE_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .roleSecret | quote }}
      key: password
- name: MARINA_DATABASE_URL
  value: {{ printf "postgres://%s:$(MARINA_DATABASE_PASSWORD)@marina-database-rw.%s.svc:5432/marina?sslmode=verify-full" (urlquery .role) .root.Release.Namespace | quote }}
{{- else -}}
- name: MARINA_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .root.Values.database.existingSecret | quote }}
      key: {{ .secretKey | quote }}
{{- end -}}
{{- end }}

{{/* Environment of both programs: dict "root" $ "memory" "1Gi" "semiSpace" 16, the last one in MB, 8 without it. */}}
{{- define "marina.environment" -}}
- name: MARINA_PLATFORM_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: NODE_OPTIONS
  value: "--max-old-space-size={{ include "marina.heapMegabytes" .memory }} --max-semi-space-size={{ .semiSpace | default 8 }}"
# With more arenas the C library keeps the buffers of large lists.
- name: MALLOC_ARENA_MAX
  value: "2"
- name: MALLOC_MMAP_THRESHOLD_
  value: "131072"
# REST shows it, and the storage enforces it.
- name: MARINA_DEFAULT_STORAGE_QUOTA_GB
  value: {{ .root.Values.sharedStorage.defaultQuotaGB | quote }}
{{- include "marina.caEnvironment" .root }}
{{- end }}

{{/* Certificate authorities besides the public ones: the bundle, else that of the chart's own database. */}}
{{- define "marina.caEnvironment" -}}
{{- if or .Values.caBundleConfigMap .Values.database.cloudNativePG.enabled }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/marina/ca/ca.crt
{{- end }}
{{- end }}

{{/* What every process of the API server's program needs besides. */}}
{{- define "marina.apiserverEnvironment" -}}
- name: MARINA_PUBLIC_URL
  value: {{ include "marina.publicUrl" . | quote }}
{{- with .Values.database }}
{{ include "marina.databaseUrl" (dict "root" $ "secretKey" .urlKey "role" .apiserverRole "roleSecret" .cloudNativePG.apiserverSecret) }}
{{- end }}
- name: MARINA_OIDC_ISSUERS
  value: {{ toJson .Values.oidc.issuers | quote }}
{{- with .Values.registry.existingSecret }}
- name: MARINA_REGISTRY
  valueFrom:
    secretKeyRef:
      name: {{ . | quote }}
      key: {{ $.Values.registry.configKey | quote }}
{{- end }}
{{- end }}

{{/* What the operator does, and its preflight looks at. */}}
{{- define "marina.operatorEnvironment" -}}
- name: MARINA_PLANS
  value: {{ include "marina.plans" . | quote }}
- name: MARINA_PLATFORM_CIDRS
  value: {{ join "," .Values.networks.platform | quote }}
- name: MARINA_SUBNET_RANGE
  value: {{ .Values.networks.nodes | quote }}
- name: MARINA_POD_CIDRS
  value: {{ .Values.networks.pods | quote }}
- name: MARINA_SERVICE_CIDRS
  value: {{ .Values.networks.services | quote }}
{{- with .Values.operator.syncedNodeLabels }}
- name: MARINA_SYNCED_NODE_LABELS
  value: {{ . | quote }}
{{- end }}
- name: MARINA_VOLUME_DETACH_TIMEOUT_SECONDS
  value: {{ .Values.operator.volumeDetachTimeoutSeconds | quote }}
- name: MARINA_NODE_DELETION_TIMEOUT_SECONDS
  value: {{ .Values.operator.nodeDeletionTimeoutSeconds | quote }}
{{- with .Values.operator.clusterAutoscalerImage }}
- name: MARINA_CLUSTER_AUTOSCALER_IMAGE
  value: {{ . | quote }}
{{- end }}
{{- if .Values.operator.clusterAutoscalerImage }}
- name: MARINA_CLUSTER_AUTOSCALER_POD
  value: {{ include "marina.autoscalerPod" . | quote }}
{{- end }}
{{- with .Values.operator.argoCDNamespace }}
- name: MARINA_ARGO_CD_NAMESPACE
  value: {{ . | quote }}
{{- end }}
{{- end }}

{{/* What the Pods of autoscalers are in the Namespaces of organizations, as JSON. */}}
{{- define "marina.autoscalerPod" -}}
{{- $pod := dict "podSecurityContext" .Values.podSecurityContext "containerSecurityContext" .Values.containerSecurityContext -}}
{{- range $name, $value := .Values.autoscaler }}{{ if $value }}{{ $_ := set $pod $name $value }}{{ end }}{{ end -}}
{{- toJson $pod -}}
{{- end }}

{{- define "marina.caVolume" -}}
{{- if .Values.caBundleConfigMap }}
- name: ca
  configMap:
    name: {{ .Values.caBundleConfigMap | quote }}
{{- else if .Values.database.cloudNativePG.enabled }}
- name: ca
  secret:
    secretName: marina-database-ca
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- end }}

{{- define "marina.caVolumeMount" -}}
{{- if or .Values.caBundleConfigMap .Values.database.cloudNativePG.enabled }}
- name: ca
  mountPath: /etc/marina/ca
  readOnly: true
{{- end }}
{{- end }}

{{/* Where Pods run: .Values.apiserver, or another object with these values. */}}
{{- define "marina.placement" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The Pods of a program are on different nodes and in different zones: dict "root" $ "component" "apiserver". */}}
{{- define "marina.spread" -}}
topologySpreadConstraints:
  {{- range tuple "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . | quote }}
    whenUnsatisfiable: ScheduleAnyway
    # Else the Pods of an upgrade that are to be removed count too, and the new ones end up on one node.
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "marina.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
