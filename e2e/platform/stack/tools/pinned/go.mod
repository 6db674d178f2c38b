// Modules of others, taken as published: programs are built by a module's own go.mod and go.sum (go-tool.ts), of others the tests load
// custom resource definitions. `go mod tidy` would remove lines: a version is changed by hand, with its two lines of go.sum as
// `go mod download -json MODULE@VERSION` says them; a module of Flux together with its `api`, to the same version.
module marina.dev/stack/pinned

go 1.26.0

require (
	github.com/Shopify/toxiproxy/v2 v2.12.0
	github.com/anchore/grype v0.120.1
	github.com/cloudnative-pg/cloudnative-pg v1.27.0
	github.com/distribution/distribution/v3 v3.1.2
	github.com/fluxcd/helm-controller v1.6.2
	github.com/fluxcd/helm-controller/api v1.6.2
	github.com/fluxcd/kustomize-controller v1.9.5
	github.com/fluxcd/kustomize-controller/api v1.9.5
	github.com/fluxcd/source-controller v1.9.3
	github.com/fluxcd/source-controller/api v1.9.3
	github.com/google/go-containerregistry v0.22.1
	github.com/ionos-cloud/cluster-api-provider-proxmox v0.9.0
	github.com/norwoodj/helm-docs v1.14.2
	github.com/oapi-codegen/oapi-codegen/v2 v2.8.2
	github.com/oasdiff/oasdiff v1.35.0
	github.com/prometheus-operator/prometheus-operator v0.85.0
	github.com/versity/versitygw v1.8.0
	github.com/yannh/kubeconform v0.8.0
	sigs.k8s.io/cli-utils v0.37.2
	sigs.k8s.io/cluster-api-provider-aws/v2 v2.13.0
	sigs.k8s.io/cluster-api-provider-gcp v1.10.0
	sigs.k8s.io/cluster-api-provider-kubevirt v0.1.10
	sigs.k8s.io/cluster-api-provider-openstack v0.14.7
	sigs.k8s.io/cluster-api-provider-vsphere v1.16.1
	sigs.k8s.io/cluster-inventory-api v0.1.2
	sigs.k8s.io/gateway-api v1.4.0
)
