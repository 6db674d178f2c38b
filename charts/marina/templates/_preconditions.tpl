{{/* Fails when another release has installed Marina in this cluster: its custom resources and roles are the cluster's. */}}
{{- define "marina.requireOnlyRelease" -}}
{{- $role := lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "marina-apiserver" | default dict -}}
{{- $annotations := dig "metadata" "annotations" dict $role | default dict -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if and $release (or (ne $release .Release.Name) (ne $namespace .Release.Namespace)) -}}
{{- fail (printf "Marina is installed in this cluster already, as the release %s in the namespace %s: upgrade that release, or uninstall it first" $release $namespace) -}}
{{- end -}}
{{- end }}

{{/*
Fails when a Secret that the values name is not in the namespace, or lacks its key: the Pods would wait for it without an end.
Nothing is known of a namespace that does not exist yet.
*/}}
{{- define "marina.requireSecrets" -}}
{{- $namespace := .Release.Namespace -}}
{{- if lookup "v1" "ServiceAccount" $namespace "default" -}}
{{- range include "marina.secrets" . | fromJsonArray -}}
{{- $secret := lookup "v1" "Secret" $namespace .name -}}
{{- if not $secret -}}
{{- fail (printf "the Secret %s is not in the namespace %s: create it with the key %s, or correct %s" .name $namespace .key .value) -}}
{{- end -}}
{{- if not (hasKey ($secret.data | default dict) .key) -}}
{{- fail (printf "the Secret %s in the namespace %s has no key %s: add it, or correct %s" .name $namespace .key .keyValue) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The Secrets that the values name: [{name, key, value, keyValue}], the latter two for messages. */}}
{{- define "marina.secrets" -}}
{{- $secrets := list -}}
{{- with .Values -}}
{{- $database := .database.existingSecret -}}
{{- $secrets = append $secrets (dict "name" $database "key" .database.urlKey "value" "database.existingSecret" "keyValue" "database.urlKey") -}}
{{- $secrets = append $secrets (dict "name" $database "key" .database.ownerUrlKey "value" "database.existingSecret" "keyValue" "database.ownerUrlKey") -}}
{{- $secrets = append $secrets (dict "name" .webhooks.existingSecret "key" .webhooks.keysKey "value" "webhooks.existingSecret" "keyValue" "webhooks.keysKey") -}}
{{- $secrets = append $secrets (dict "name" .attachments.existingSecret "key" .attachments.storeKey "value" "attachments.existingSecret" "keyValue" "attachments.storeKey") -}}
{{- $secrets = append $secrets (dict "name" .registry.existingSecret "key" .registry.configKey "value" "registry.existingSecret" "keyValue" "registry.configKey") -}}
{{- if .database.cloudNativePG.enabled -}}
{{- $secrets = append $secrets (dict "name" .database.cloudNativePG.apiserverSecret "key" "password" "value" "database.cloudNativePG.apiserverSecret" "keyValue" "it") -}}
{{- end -}}
{{- if eq .sharedStorage.driver "ceph" -}}
{{- $secrets = append $secrets (dict "name" .sharedStorage.ceph.existingSecret "key" .sharedStorage.ceph.passwordKey "value" "sharedStorage.ceph.existingSecret" "keyValue" "sharedStorage.ceph.passwordKey") -}}
{{- end -}}
{{- end -}}
{{- $named := list -}}
{{- range $secrets }}{{ if .name }}{{ $named = append $named . }}{{ end }}{{ end -}}
{{- toJson $named -}}
{{- end }}
