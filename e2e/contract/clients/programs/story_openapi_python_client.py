"""The tenant's story by the client of openapi-python-client. MARINA_URL and MARINA_TOKEN say where and as whom."""

import json
import os
import time
from http import HTTPStatus

from marina_client import AuthenticatedClient
from marina_client.api.clusters import (
    create_cluster,
    delete_cluster,
    get_cluster,
    get_kubeconfig,
    issue_kubeconfig,
    list_clusters,
)
from marina_client.api.node_pools import create_node_pool, get_node_pool, update_node_pool
from marina_client.api.organizations import create_organization, delete_organization
from marina_client.models import (
    Cluster,
    ClusterPage,
    ClusterStatus,
    CreateCluster,
    CreateNodePool,
    CreateOrganization,
    Error,
    ErrorInfoCode,
    IssuedKubeconfig,
    IssueKubeconfig,
    NodePool,
    NodePoolStatus,
    Organization,
    StatusEvent,
    UpdateNodePool,
)


def run() -> None:
    client = AuthenticatedClient(
        base_url=os.environ["MARINA_URL"], token=os.environ["MARINA_TOKEN"], raise_on_unexpected_status=True
    )
    organization = create_organization.sync(client=client, body=CreateOrganization(name="Python client 2"))
    assert isinstance(organization, Organization), organization
    org = organization.id
    body = CreateCluster(name="first", k8s_version="1.34", node_pools=[pool("general", 4)])
    cluster = create_cluster.sync(org, client=client, body=body, idempotency_key="python-client-2")
    assert isinstance(cluster, Cluster), cluster
    place = (org, cluster.id)

    # Its functions read a response to its end, which a stream has not.
    path = f"/api/v1/organizations/{org}/clusters/{cluster.id}/system-events"
    with client.get_httpx_client().stream("GET", path, headers={"Accept": "text/event-stream"}) as stream:
        text = next(line for line in stream.iter_lines() if line.startswith("data: "))
    state = StatusEvent.from_dict(json.loads(text.removeprefix("data: ")))
    assert state.cluster_id == cluster.id, state

    def is_running() -> bool:
        seen = get_cluster.sync(*place, client=client)
        assert isinstance(seen, Cluster), seen
        return seen.status == ClusterStatus.RUNNING and seen.nodes.ready == 1

    until("the cluster to run", is_running)
    page = list_clusters.sync(org, client=client, limit=10)
    assert isinstance(page, ClusterPage) and [item.id for item in page.items] == [cluster.id], page
    assert page.next_cursor is None, page

    added = create_node_pool.sync(*place, client=client, body=pool("memory", 8))
    assert isinstance(added, NodePool), added

    def is_ready() -> bool:
        seen = get_node_pool.sync(*place, added.id, client=client)
        assert isinstance(seen, NodePool), seen
        return seen.status == NodePoolStatus.READY

    until("the node pool to be ready", is_ready)
    etag = get_node_pool.sync_detailed(*place, added.id, client=client).headers["ETag"]
    change = UpdateNodePool(desired_nodes=2, max_nodes=2)
    changed = update_node_pool.sync(*place, added.id, client=client, body=change, if_match=etag)
    assert isinstance(changed, NodePool) and changed.desired_nodes == 2, changed
    refused = update_node_pool.sync_detailed(*place, added.id, client=client, body=change, if_match=etag)
    assert refused.status_code == HTTPStatus.PRECONDITION_FAILED, refused
    assert isinstance(refused.parsed, Error), refused
    assert refused.parsed.error.code == ErrorInfoCode.PRECONDITION_FAILED, refused

    kubeconfig = get_kubeconfig.sync(*place, client=client)
    assert isinstance(kubeconfig, str) and "certificate-authority-data" in kubeconfig
    issued = issue_kubeconfig.sync(*place, client=client, body=IssueKubeconfig(ttl_seconds=600))
    assert isinstance(issued, IssuedKubeconfig) and "certificate-authority-data" in issued.kubeconfig, issued

    deleted = delete_cluster.sync(*place, client=client)
    assert isinstance(deleted, Cluster), deleted

    def is_deleted() -> bool:
        return get_cluster.sync_detailed(*place, client=client).status_code == HTTPStatus.NOT_FOUND

    until("the cluster to be deleted", is_deleted)
    assert delete_organization.sync_detailed(org, client=client).status_code == HTTPStatus.NO_CONTENT


def pool(name: str, memory_gb: int) -> CreateNodePool:
    return CreateNodePool(name=name, vcpus=2, memory_gb=memory_gb, disk_gb=20, desired_nodes=1)


def until(what: str, holds) -> None:
    deadline = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < deadline, f"waited 3 minutes for {what}"
        time.sleep(0.5)


run()
