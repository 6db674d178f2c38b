{{/*
kube-vip holds the address of the API endpoint on the machines of the control plane, where the infrastructure has no load balancer.
`endpoint` is the expression of a patch that tells the address. kubeadm's admin.conf has no rights while the first machine starts,
so that one uses super-admin.conf. Both name the address itself, so kube-vip is told to ask its own machine: it could otherwise
take over no address that nobody holds.
*/}}
{{- define "classes.kubeVip" -}}
- name: kube-vip
  definitions:
    - selector:
        apiVersion: controlplane.cluster.x-k8s.io/v1beta2
        kind: KubeadmControlPlaneTemplate
        matchResources: { controlPlane: true }
      jsonPatches:
        - op: add
          path: /spec/template/spec/kubeadmConfigSpec/files
          valueFrom:
            template: |
              - path: /etc/kubernetes/manifests/kube-vip.yaml
                owner: root:root
                permissions: "0644"
                content: |
                  apiVersion: v1
                  kind: Pod
                  metadata: { name: kube-vip, namespace: kube-system }
                  spec:
                    hostNetwork: true
                    containers:
                      - name: kube-vip
                        image: {{ .kubeVipImage | quote }}
                        args: [manager]
                        env:
                          - { name: address, value: "{{ .endpoint }}" }
                          - { name: port, value: "6443" }
                          - { name: kubernetes_addr, value: "kubernetes:6443" }
                          - { name: vip_nodename, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }
                          - { name: vip_subnet, value: "32" }
                          - { name: vip_arp, value: "true" }
                          - { name: vip_leaderelection, value: "true" }
                          - { name: cp_enable, value: "true" }
                          - { name: cp_namespace, value: kube-system }
                        securityContext: { capabilities: { add: [NET_ADMIN, NET_RAW] } }
                        volumeMounts:
                          - { name: kubeconfig, mountPath: /etc/kubernetes/admin.conf }
                          - { name: hosts, mountPath: /etc/hosts }
                    volumes:
                      - { name: kubeconfig, hostPath: { path: /etc/kubernetes/admin.conf } }
                      - { name: hosts, hostPath: { path: /etc/kube-vip.hosts, type: File } }
              - path: /etc/kube-vip.hosts
                owner: root:root
                permissions: "0644"
                content: 127.0.0.1 localhost kubernetes
{{- end }}

{{/* Commands before kubeadm on the machines of a control plane with kube-vip. */}}
{{- define "classes.kubeVipCommand" -}}
test ! -f /run/kubeadm/kubeadm.yaml || sed -i 's#path: /etc/kubernetes/admin.conf#path: /etc/kubernetes/super-admin.conf#' /etc/kubernetes/manifests/kube-vip.yaml
{{- end }}
