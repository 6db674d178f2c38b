// Whose custom resource definitions the tests of the charts load: the infrastructure providers of charts/marina-classes, and the
// operators that charts/marina has objects for. Nothing is built of them, so `go mod tidy` would remove every line.
module marina.dev/stack/providers

go 1.26

require (
	github.com/cloudnative-pg/cloudnative-pg v1.27.0
	github.com/ionos-cloud/cluster-api-provider-proxmox v0.9.0
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/cluster-api-provider-aws/v2 v2.13.0
	sigs.k8s.io/cluster-api-provider-gcp v1.10.0
	sigs.k8s.io/cluster-api-provider-kubevirt v0.1.10
	sigs.k8s.io/cluster-api-provider-openstack v0.14.7
	sigs.k8s.io/cluster-api-provider-vsphere v1.16.1
	sigs.k8s.io/gateway-api v1.4.0
)
