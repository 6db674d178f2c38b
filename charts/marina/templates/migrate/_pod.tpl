{{/* The Pod template of the migration, which names its Job: another template is another Job, for none can be changed. */}}
{{- define "marina.migratePod" -}}
metadata:
  labels:
    {{- include "marina.labels" (dict "root" $ "component" "migrate" "more" .Values.migrate.podLabels) | nindent 4 }}
  {{- with .Values.migrate.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  restartPolicy: Never
  # It only talks to Postgres.
  automountServiceAccountToken: false
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "marina.placement" .Values.migrate | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  containers:
    - name: migrate
      image: {{ include "marina.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy | quote }}
      args: [migrate]
      securityContext:
        {{- toYaml .Values.containerSecurityContext | nindent 8 }}
      env:
        {{- include "marina.databaseUrl" (dict "root" $ "secretKey" .Values.database.ownerUrlKey "role" "marina_owner" "roleSecret" "marina-database-app") | nindent 8 }}
        - name: MARINA_DATABASE_APISERVER_ROLE
          value: {{ .Values.database.apiserverRole | quote }}
        {{- with include "marina.caEnvironment" . | trim }}
        {{- . | nindent 8 }}
        {{- end }}
      resources:
        {{- toYaml .Values.migrate.resources | nindent 8 }}
      terminationMessagePolicy: FallbackToLogsOnError
      {{- with include "marina.caVolumeMount" . | trim }}
      volumeMounts:
        {{- . | nindent 8 }}
      {{- end }}
  {{- with include "marina.caVolume" . | trim }}
  volumes:
    {{- . | nindent 4 }}
  {{- end }}
{{- end }}
