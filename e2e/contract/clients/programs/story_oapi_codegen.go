// The tenant's story by the Go client of oapi-codegen. MARINA_URL and MARINA_TOKEN say where and as whom.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/oapi-codegen/runtime/types"

	marina "marina.dev/clients/client"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("MARINA_TOKEN"))
		return nil
	}
	client, err := marina.NewClientWithResponses(os.Getenv("MARINA_URL"), marina.WithRequestEditorFn(authorize))
	if err != nil {
		return err
	}
	created, err := client.CreateOrganizationWithResponse(ctx, nil, marina.CreateOrganization{Name: "oapi-codegen"})
	if err != nil || created.JSON201 == nil {
		return fail("create the organization", err, created)
	}
	org := created.JSON201.Id
	create := marina.CreateCluster{
		Name: "first", K8sVersion: "1.34", NodePools: &[]marina.CreateNodePool{aPool("general", 4)},
	}
	key := "oapi-codegen"
	params := &marina.CreateClusterParams{IdempotencyKey: &key}
	accepted, err := client.CreateClusterWithResponse(ctx, org, params, create)
	if err != nil || accepted.JSON202 == nil {
		return fail("create the cluster", err, accepted)
	}
	cluster := accepted.JSON202.Id
	if err = readStream(ctx, client, org, cluster); err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	second, err := client.CreateClusterWithResponse(ctx, org, nil, create)
	if err != nil || second.JSON409 == nil || second.JSON409.Error.Code != "already_exists" {
		return fail("a second cluster of the same name", err, second)
	}
	err = until("the cluster to run", func() (bool, error) {
		seen, err := client.GetClusterWithResponse(ctx, org, cluster, nil)
		return err == nil && seen.JSON200 != nil && seen.JSON200.Status == "running" && seen.JSON200.Nodes.Ready == 1, err
	})
	if err != nil {
		return err
	}
	if err = rename(ctx, client, org, cluster); err != nil {
		return fmt.Errorf("rename the cluster: %w", err)
	}
	if err = changePools(ctx, client, org, cluster); err != nil {
		return err
	}

	if err = download(ctx, client, org, cluster); err != nil {
		return fmt.Errorf("download the kubeconfig: %w", err)
	}
	issued, err := client.IssueKubeconfigWithResponse(ctx, org, cluster, nil, marina.IssueKubeconfig{TtlSeconds: 600})
	if err != nil || issued.JSON201 == nil || !strings.Contains(issued.JSON201.Kubeconfig, "certificate-authority-data") {
		return fail("issue a kubeconfig", err, issued)
	}

	deleted, err := client.DeleteClusterWithResponse(ctx, org, cluster, nil)
	if err != nil || deleted.JSON202 == nil {
		return fail("delete the cluster", err, deleted)
	}
	err = until("the cluster to be deleted", func() (bool, error) {
		seen, err := client.GetClusterWithResponse(ctx, org, cluster, nil)
		return err == nil && seen.JSON404 != nil && seen.JSON404.Error.Code == "not_found", err
	})
	if err != nil {
		return err
	}
	gone, err := client.DeleteOrganizationWithResponse(ctx, org, nil)
	if err != nil || gone.StatusCode() != http.StatusNoContent {
		return fail("delete the organization", err, gone)
	}
	return nil
}

// A stream has no end: the plain client returns the response as it comes, WithResponse would read it all.
func readStream(ctx context.Context, client *marina.ClientWithResponses, org, cluster types.UUID) error {
	accept := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Accept", "text/event-stream")
		return nil
	}
	response, err := client.StreamSystemEvents(ctx, org, cluster, nil, accept)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found {
			continue
		}
		var state marina.StatusEvent
		if err = json.Unmarshal([]byte(data), &state); err != nil || state.ClusterId != cluster {
			return fmt.Errorf("the present state: %s, %w", data, err)
		}
		return nil
	}
	return fmt.Errorf("the stream ended, %w", lines.Err())
}

// The kubeconfig is text, of which WithResponse would make an object.
func download(ctx context.Context, client *marina.ClientWithResponses, org, cluster types.UUID) error {
	response, err := client.GetKubeconfig(ctx, org, cluster)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	kubeconfig, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(kubeconfig), "certificate-authority-data") {
		return fmt.Errorf("%s, %w", response.Status, err)
	}
	return nil
}

// What a GET returned is sent back with another name.
func rename(ctx context.Context, client *marina.ClientWithResponses, org, cluster types.UUID) error {
	seen, err := client.GetClusterWithResponse(ctx, org, cluster, nil)
	if err != nil {
		return err
	}
	var change marina.UpdateCluster
	if err = json.Unmarshal(seen.Body, &change); err != nil {
		return err
	}
	name := "renamed"
	change.Name = &name
	renamed, err := client.UpdateClusterWithResponse(ctx, org, cluster, nil, change)
	if err != nil || renamed.JSON200 == nil || renamed.JSON200.Name != name {
		return fail("send the changed record", err, renamed)
	}
	return nil
}

func changePools(ctx context.Context, client *marina.ClientWithResponses, org, cluster types.UUID) error {
	added, err := client.CreateNodePoolWithResponse(ctx, org, cluster, nil, aPool("memory", 8))
	if err != nil || added.JSON202 == nil {
		return fail("add the node pool", err, added)
	}
	names := []string{}
	limit := int32(1)
	for params := (&marina.ListNodePoolsParams{Limit: &limit}); ; {
		page, err := client.ListNodePoolsWithResponse(ctx, org, cluster, params)
		if err != nil || page.JSON200 == nil || len(page.JSON200.Items) != 1 {
			return fail("list the node pools", err, page)
		}
		names = append(names, page.JSON200.Items[0].Name)
		if params.Cursor = page.JSON200.NextCursor; params.Cursor == nil {
			break
		}
	}
	if strings.Join(names, " ") != "general memory" {
		return fmt.Errorf("the pages of node pools: %v", names)
	}
	pool := added.JSON202.Id
	var etag *string
	err = until("the node pool to be ready", func() (bool, error) {
		seen, err := client.GetNodePoolWithResponse(ctx, org, cluster, pool, nil)
		if err != nil || seen.JSON200 == nil {
			return false, err
		}
		etag = seen.Headers200.ETag
		return seen.JSON200.Status == "ready", nil
	})
	if err != nil {
		return err
	}
	nodes := int32(2)
	change := marina.UpdateNodePool{DesiredNodes: &nodes, MaxNodes: &nodes}
	params := &marina.UpdateNodePoolParams{IfMatch: etag}
	changed, err := client.UpdateNodePoolWithResponse(ctx, org, cluster, pool, params, change)
	if err != nil || changed.JSON200 == nil || changed.JSON200.DesiredNodes != nodes {
		return fail("change the node pool", err, changed)
	}
	refused, err := client.UpdateNodePoolWithResponse(ctx, org, cluster, pool, params, change)
	if err != nil || refused.JSON412 == nil || refused.JSON412.Error.Code != "precondition_failed" {
		return fail("a change with an old ETag", err, refused)
	}
	return nil
}

// fail says what a step was answered with instead of what it expected.
func fail(step string, err error, response interface{ GetBody() []byte }) error {
	if err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return fmt.Errorf("%s: %s", step, response.GetBody())
}

func aPool(name string, memoryGb int32) marina.CreateNodePool {
	return marina.CreateNodePool{Name: name, Vcpus: 2, MemoryGb: memoryGb, DiskGb: 20, DesiredNodes: 1}
}

func until(what string, holds func() (bool, error)) error {
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if done, err := holds(); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("waited 3 minutes for %s", what)
}
