// The infrastructure providers whose custom resource definitions the tests of charts/marina-classes load. Nothing is built of
// them, so `go mod tidy` would remove every line.
module marina.dev/stack/providers

go 1.26

require (
	github.com/ionos-cloud/cluster-api-provider-proxmox v0.7.0
	sigs.k8s.io/cluster-api-provider-aws/v2 v2.13.0
	sigs.k8s.io/cluster-api-provider-kubevirt v0.1.10
	sigs.k8s.io/cluster-api-provider-openstack v0.11.3
	sigs.k8s.io/cluster-api-provider-vsphere v1.15.2
)
