// The tenant's story by the Go client of openapi-generator. MARINA_URL and MARINA_TOKEN say where and as whom.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	marina "marina/client"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	configuration := marina.NewConfiguration()
	configuration.Servers = marina.ServerConfigurations{{URL: os.Getenv("MARINA_URL")}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+os.Getenv("MARINA_TOKEN"))
	client := marina.NewAPIClient(configuration)
	clusters, pools := client.ClustersAPI, client.NodePoolsAPI

	organization, _, err := client.OrganizationsAPI.CreateOrganization(ctx).
		CreateOrganization(*marina.NewCreateOrganization("Go client")).Execute()
	if err != nil {
		return fmt.Errorf("create the organization: %w", err)
	}
	org := organization.Id
	create := marina.NewCreateCluster("first", "1.34")
	create.NodePools = []marina.CreateNodePool{*marina.NewCreateNodePool("general", 2, 4, 20, 1)}
	cluster, _, err := clusters.CreateCluster(ctx, org).CreateCluster(*create).IdempotencyKey("go-client").Execute()
	if err != nil {
		return fmt.Errorf("create the cluster: %w", err)
	}
	if err = readStream(ctx, configuration, org, cluster.Id); err != nil {
		return fmt.Errorf("read the stream: %w", err)
	}
	err = until("the cluster to run", func() (bool, error) {
		cluster, _, err := clusters.GetCluster(ctx, org, cluster.Id).Execute()
		return err == nil && cluster.Status == "running" && cluster.Nodes.Ready == 1, err
	})
	if err != nil {
		return err
	}
	page, _, err := clusters.ListClusters(ctx, org).Limit(10).Execute()
	if err != nil || len(page.Items) != 1 || page.Items[0].Id != cluster.Id || page.NextCursor.Get() != nil {
		return fmt.Errorf("list the clusters: %v, %w", page, err)
	}

	pool, response, err := pools.CreateNodePool(ctx, org, cluster.Id).
		CreateNodePool(*marina.NewCreateNodePool("memory", 2, 8, 20, 1)).Execute()
	if err != nil {
		return fmt.Errorf("add the node pool: %w", err)
	}
	err = until("the node pool to be ready", func() (bool, error) {
		pool, answer, err := pools.GetNodePool(ctx, org, cluster.Id, pool.Id).Execute()
		response = answer
		return err == nil && pool.Status == "ready", err
	})
	if err != nil {
		return err
	}
	etag := response.Header.Get("ETag")
	change := marina.NewUpdateNodePool()
	change.SetDesiredNodes(2)
	change.SetMaxNodes(2)
	pool, _, err = pools.UpdateNodePool(ctx, org, cluster.Id, pool.Id).UpdateNodePool(*change).IfMatch(etag).Execute()
	if err != nil || pool.DesiredNodes != 2 {
		return fmt.Errorf("change the node pool: %v, %w", pool, err)
	}
	_, response, err = pools.UpdateNodePool(ctx, org, cluster.Id, pool.Id).UpdateNodePool(*change).IfMatch(etag).Execute()
	var failure *marina.GenericOpenAPIError
	if !errors.As(err, &failure) || response.StatusCode != http.StatusPreconditionFailed {
		return fmt.Errorf("a change with an old ETag: %w", err)
	}
	if problem, ok := failure.Model().(marina.Error); !ok || problem.Error.Code != "precondition_failed" {
		return fmt.Errorf("the error of an old ETag: %v", failure.Model())
	}

	kubeconfig, _, err := clusters.GetKubeconfig(ctx, org, cluster.Id).Execute()
	if err != nil || !strings.Contains(kubeconfig, "certificate-authority-data") {
		return fmt.Errorf("download the kubeconfig: %w", err)
	}
	issued, _, err := clusters.IssueKubeconfig(ctx, org, cluster.Id).
		IssueKubeconfig(*marina.NewIssueKubeconfig(600)).Execute()
	if err != nil || !strings.Contains(issued.Kubeconfig, "certificate-authority-data") {
		return fmt.Errorf("issue a kubeconfig: %w", err)
	}

	if _, _, err = clusters.DeleteCluster(ctx, org, cluster.Id).Execute(); err != nil {
		return fmt.Errorf("delete the cluster: %w", err)
	}
	err = until("the cluster to be deleted", func() (bool, error) {
		_, response, err := clusters.GetCluster(ctx, org, cluster.Id).Execute()
		if response != nil && response.StatusCode == http.StatusNotFound {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return err
	}
	if _, _, err = client.OrganizationsAPI.DeleteOrganization(ctx, org).Execute(); err != nil {
		return fmt.Errorf("delete the organization: %w", err)
	}
	return nil
}

// The generated function reads a response to its end, which a stream has not.
func readStream(ctx context.Context, configuration *marina.Configuration, org, cluster string) error {
	path := configuration.Servers[0].URL + "/api/v1/organizations/" + org + "/clusters/" + cluster + "/system-events"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	for name, value := range configuration.DefaultHeader {
		request.Header.Set(name, value)
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(request)
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

func until(what string, holds func() (bool, error)) error {
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if done, err := holds(); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("waited 3 minutes for %s", what)
}
