import dev.marina.client.ApiClient;
import dev.marina.client.ApiException;
import dev.marina.client.ApiResponse;
import dev.marina.client.JSON;
import dev.marina.client.api.ClustersApi;
import dev.marina.client.api.NodePoolsApi;
import dev.marina.client.api.OrganizationsApi;
import dev.marina.client.model.Cluster;
import dev.marina.client.model.CreateCluster;
import dev.marina.client.model.CreateNodePool;
import dev.marina.client.model.CreateOrganization;
import dev.marina.client.model.Error;
import dev.marina.client.model.ErrorInfo;
import dev.marina.client.model.NodePool;
import dev.marina.client.model.StatusEvent;
import dev.marina.client.model.UpdateNodePool;
import java.util.UUID;
import java.util.concurrent.Callable;
import okhttp3.Request;
import okhttp3.Response;

/** The tenant's story by the Java client of openapi-generator. MARINA_URL and MARINA_TOKEN say where and as whom. */
public class Story {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient().setBasePath(System.getenv("MARINA_URL"));
    client.addDefaultHeader("Authorization", "Bearer " + System.getenv("MARINA_TOKEN"));
    OrganizationsApi organizations = new OrganizationsApi(client);
    ClustersApi clusters = new ClustersApi(client);
    NodePoolsApi pools = new NodePoolsApi(client);

    UUID org = organizations.createOrganization(new CreateOrganization().name("Java client"), null).getId();
    CreateCluster create =
        new CreateCluster().name("first").k8sVersion("1.34").addNodePoolsItem(pool("general", 4));
    UUID cluster = clusters.createCluster(org, create, null, "java-client").getId();
    readStream(client, org, cluster);
    until(
        "the cluster to run",
        () -> {
          Cluster seen = clusters.getCluster(org, cluster, null);
          return seen.getStatus() == Cluster.StatusEnum.RUNNING && seen.getNodes().getReady() == 1;
        });
    var page = clusters.listClusters(org, null, 10, null, null, null);
    require(page.getItems().size() == 1 && page.getNextCursor() == null, "list the clusters: " + page);

    UUID pool = pools.createNodePool(org, cluster, pool("memory", 8), null, null).getId();
    until(
        "the node pool to be ready",
        () -> pools.getNodePool(org, cluster, pool, null).getStatus() == NodePool.StatusEnum.READY);
    ApiResponse<NodePool> read = pools.getNodePoolWithHttpInfo(org, cluster, pool, null);
    String etag = read.getHeaders().get("etag").get(0);
    UpdateNodePool change = new UpdateNodePool().desiredNodes(2).maxNodes(2);
    NodePool changed = pools.updateNodePool(org, cluster, pool, change, null, etag, null);
    require(changed.getDesiredNodes() == 2, "change the node pool: " + changed);
    try {
      pools.updateNodePool(org, cluster, pool, change, null, etag, null);
      throw new IllegalStateException("a change with an old ETag was accepted");
    } catch (ApiException failure) {
      Error problem = JSON.deserialize(failure.getResponseBody(), Error.class);
      boolean isRefused = problem.getError().getCode() == ErrorInfo.CodeEnum.PRECONDITION_FAILED;
      require(failure.getCode() == 412 && isRefused, "the error of an old ETag: " + problem);
    }

    require(clusters.getKubeconfig(org, cluster).contains("certificate-authority-data"), "read the kubeconfig");

    clusters.deleteCluster(org, cluster, null, null, null);
    until(
        "the cluster to be deleted",
        () -> {
          try {
            clusters.getCluster(org, cluster, null);
            return false;
          } catch (ApiException failure) {
            if (failure.getCode() == 404) return true;
            throw failure;
          }
        });
    organizations.deleteOrganization(org, null, null, null);
  }

  /** The generated method reads a response to its end, which a stream has not. */
  private static void readStream(ApiClient client, UUID org, UUID cluster) throws Exception {
    String path = "/api/v1/organizations/" + org + "/clusters/" + cluster + "/system-events";
    Request request =
        new Request.Builder()
            .url(client.getBasePath() + path)
            .header("Accept", "text/event-stream")
            .header("Authorization", "Bearer " + System.getenv("MARINA_TOKEN"))
            .build();
    try (Response response = client.getHttpClient().newCall(request).execute()) {
      String line = "";
      while (!line.startsWith("data: ")) line = response.body().source().readUtf8LineStrict();
      StatusEvent state = JSON.deserialize(line.substring(6), StatusEvent.class);
      require(state.getClusterId().equals(cluster), "the present state: " + state);
    }
  }

  private static CreateNodePool pool(String name, int memoryGb) {
    return new CreateNodePool().name(name).vcpus(2).memoryGb(memoryGb).diskGb(20).desiredNodes(1);
  }

  private static void until(String what, Callable<Boolean> holds) throws Exception {
    long deadline = System.currentTimeMillis() + 180_000;
    while (!holds.call()) {
      require(System.currentTimeMillis() < deadline, "waited 3 minutes for " + what);
      Thread.sleep(500);
    }
  }

  private static void require(boolean holds, String message) {
    if (!holds) throw new IllegalStateException(message);
  }
}
