{{/* Fails for values that are missing, all of them in one message, and for those that exclude each other. */}}
{{- define "marina.requireValues" -}}
{{- $missing := list -}}
{{- with .Values -}}
{{- if not .host }}{{ $missing = append $missing "host: the name under which tenants reach the API" }}{{ end -}}
{{- if not .image.repository }}{{ $missing = append $missing "image.repository: the image of both programs, in your registry" }}{{ end -}}
{{- if not .oidc.issuers }}{{ $missing = append $missing "oidc.issuers: the issuers whose access tokens are accepted, [{issuer, audience}] (docs/operators/identity)" }}{{ end -}}
{{- if .database.cloudNativePG.enabled -}}
{{- if not .database.cloudNativePG.apiserverSecret }}{{ $missing = append $missing "database.cloudNativePG.apiserverSecret: a Secret (kubernetes.io/basic-auth) with the password of the API server's role" }}{{ end -}}
{{- else if not .database.existingSecret }}{{ $missing = append $missing "database.existingSecret: a Secret with the addresses of the database" }}{{ end -}}
{{- if eq .sharedStorage.driver "directory" -}}
{{- if not .sharedStorage.directory.existingClaim }}{{ $missing = append $missing "sharedStorage.directory.existingClaim: the claim of the volume, for the driver directory" }}{{ end -}}
{{- else if eq .sharedStorage.driver "ceph" -}}
{{- if not .sharedStorage.ceph.url }}{{ $missing = append $missing "sharedStorage.ceph.url: the address of the manager's dashboard module, for the driver ceph" }}{{ end -}}
{{- if not .sharedStorage.ceph.existingSecret }}{{ $missing = append $missing "sharedStorage.ceph.existingSecret: a Secret with the user's password, for the driver ceph" }}{{ end -}}
{{- end -}}
{{- if and .httpRoute.enabled (not .httpRoute.parentRefs) }}{{ $missing = append $missing "httpRoute.parentRefs: the Gateways that serve the host" }}{{ end -}}
{{- if and (or .ingress.enabled .httpRoute.enabled) (not .apiserver.trustedProxies) }}{{ $missing = append $missing "apiserver.trustedProxies: the addresses (CIDR) of the Pods of the Ingress or Gateway controller; without them all clients count as one address, and whoever guesses credentials locks out every new sign-in" }}{{ end -}}
{{- if .scanner.enabled -}}
{{- if not .scanner.image.repository }}{{ $missing = append $missing "scanner.image.repository: the image with grype, in your registry, for scanner.enabled" }}{{ end -}}
{{- if not .registry.existingSecret }}{{ $missing = append $missing "registry.existingSecret: a Secret with the registry whose images are scanned, for scanner.enabled" }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if $missing -}}
{{- fail (printf "values are missing, which cannot be guessed:\n  %s\n" (join "\n  " $missing)) -}}
{{- end -}}
{{- if contains "/" .Values.host -}}
{{- fail (printf "host is a name without a scheme and a path, for example api.example.com, and not %s: an address that is not https://<host> is set as publicUrl" .Values.host) -}}
{{- end -}}
{{- if and .Values.database.cloudNativePG.enabled .Values.database.existingSecret -}}
{{- fail "database.existingSecret and database.cloudNativePG exclude each other: a database of yours, or one that the chart makes" -}}
{{- end -}}
{{- end }}

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
