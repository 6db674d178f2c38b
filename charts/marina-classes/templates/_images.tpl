{{/*
A patch that sets the image of the machines' Kubernetes version, the same for control planes and workers. Cluster API reads the result of
a template as YAML: as JSON a name that looks like a number stays a text.
*/}}
{{- define "classes.image" -}}
- name: image
  definitions:
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/{{ .version }}
        kind: {{ .kind }}MachineTemplate
        matchResources: { controlPlane: true }
      jsonPatches:
        - op: add
          path: {{ .path | quote }}
          valueFrom:
            template: {{ .format | replace "<version>" "{{ .builtin.controlPlane.version }}" | replace "<version-with-hyphens>" "{{ .builtin.controlPlane.version | replace `.` `-` }}" | toJson | quote }}
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/{{ .version }}
        kind: {{ .kind }}MachineTemplate
        matchResources: { machineDeploymentClass: { names: [default] } }
      jsonPatches:
        - op: add
          path: {{ .path | quote }}
          valueFrom:
            template: {{ .format | replace "<version>" "{{ .builtin.machineDeployment.version }}" | replace "<version-with-hyphens>" "{{ .builtin.machineDeployment.version | replace `.` `-` }}" | toJson | quote }}
{{- end }}
