{{/* A patch that sets the machine type of the pool's size. The schema of the variable `machine` refuses every other size before. */}}
{{- define "classes.flavour" -}}
{{- $sizes := dict }}
{{- range .sizes }}
{{- $_ := set $sizes (printf "%d-%d" (int .vcpus) (int .memoryGB)) .name }}
{{- end }}
- name: machine-type
  enabledIf: {{ "{{ if .machine }}true{{ end }}" | quote }}
  definitions:
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/{{ .version }}
        kind: {{ .kind }}MachineTemplate
        matchResources: { machineDeploymentClass: { names: [default] } }
      jsonPatches:
        - op: replace
          path: {{ .flavourPath | quote }}
          valueFrom:
            template: |
              {{ "{{" }} get (fromJson {{ toJson $sizes | quote }}) (printf "%v-%v" .machine.vcpus .machine.memoryGB) | toJson {{ "}}" }}
{{- end }}
