{{/* A patch that sets the image of the machines' Kubernetes version, the same for control planes and workers. */}}
{{- define "classes.image" -}}
- name: image
  definitions:
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/{{ .version }}
        kind: {{ .kind }}MachineTemplate
        matchResources: { controlPlane: true }
      jsonPatches:
        - op: add
          path: {{ .path }}
          valueFrom:
            template: {{ printf .format "{{ .builtin.controlPlane.version }}" | quote }}
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/{{ .version }}
        kind: {{ .kind }}MachineTemplate
        matchResources: { machineDeploymentClass: { names: [default] } }
      jsonPatches:
        - op: add
          path: {{ .path }}
          valueFrom:
            template: {{ printf .format "{{ .builtin.machineDeployment.version }}" | quote }}
{{- end }}
