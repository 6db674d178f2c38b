"""The tenant's story by the Python client of openapi-generator. MARINA_URL and MARINA_TOKEN say where and as whom."""

import json
import os
import time

import marina_client as marina


def run() -> None:
    configuration = marina.Configuration(host=os.environ["MARINA_URL"], access_token=os.environ["MARINA_TOKEN"])
    client = marina.ApiClient(configuration)
    organizations, clusters = marina.OrganizationsApi(client), marina.ClustersApi(client)
    pools = marina.NodePoolsApi(client)

    org = organizations.create_organization(marina.CreateOrganization(name="Python client")).id
    body = marina.CreateCluster(name="first", k8s_version="1.34", node_pools=[pool("general", 4)])
    cluster = clusters.create_cluster(org, body, idempotency_key="python-client").id

    # Without preloading, a stream is read as it comes.
    events = marina.SystemEventsApi(client)
    stream = events.stream_system_events_without_preload_content(
        org, cluster, _headers={"Accept": "text/event-stream"}
    )
    text = next(line for line in lines(stream) if line.startswith("data: "))
    state = marina.StatusEvent.from_dict(json.loads(text.removeprefix("data: ")))
    assert state.cluster_id == cluster, state
    stream.close()

    def is_running() -> bool:
        seen = clusters.get_cluster(org, cluster)
        return seen.status == "running" and seen.nodes.ready == 1

    until("the cluster to run", is_running)
    page = clusters.list_clusters(org, limit=10)
    assert [item.id for item in page.items] == [cluster] and page.next_cursor is None, page

    added = pools.create_node_pool(org, cluster, pool("memory", 8)).id
    until("the node pool to be ready", lambda: pools.get_node_pool(org, cluster, added).status == "ready")
    etag = pools.get_node_pool_with_http_info(org, cluster, added).headers["etag"]
    change = marina.UpdateNodePool(desired_nodes=2, max_nodes=2)
    changed = pools.update_node_pool(org, cluster, added, change, if_match=etag)
    assert changed.desired_nodes == 2, changed
    try:
        pools.update_node_pool(org, cluster, added, change, if_match=etag)
        raise AssertionError("a change with an old ETag was accepted")
    except marina.ApiException as failure:
        assert failure.status == 412, failure
        assert isinstance(failure.data, marina.Error), failure.data
        assert failure.data.error.code == "precondition_failed", failure.data

    # It parses JSON and text/*, and no application/yaml.
    kubeconfig = clusters.get_kubeconfig_without_preload_content(org, cluster).data
    assert b"certificate-authority-data" in kubeconfig
    assert "certificate-authority-data" in clusters.issue_kubeconfig(org, cluster, marina.IssueKubeconfig(ttl_seconds=600)).kubeconfig

    clusters.delete_cluster(org, cluster)

    def is_deleted() -> bool:
        try:
            clusters.get_cluster(org, cluster)
            return False
        except marina.exceptions.NotFoundException:
            return True

    until("the cluster to be deleted", is_deleted)
    organizations.delete_organization(org)


def lines(stream):
    rest = b""
    for part in stream.stream(1):
        rest += part
        if part == b"\n":
            yield rest.decode().rstrip("\n")
            rest = b""


def pool(name: str, memory_gb: int) -> marina.CreateNodePool:
    return marina.CreateNodePool(name=name, vcpus=2, memory_gb=memory_gb, disk_gb=20, desired_nodes=1)


def until(what: str, holds) -> None:
    deadline = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < deadline, f"waited 3 minutes for {what}"
        time.sleep(0.5)


run()
