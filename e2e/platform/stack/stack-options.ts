import type { Audit } from "./management-cluster.ts";
import type { Progress } from "./progress.ts";
import type { ProviderName } from "./provider.ts";

export interface StackOptions {
  /** The run directory; everything of this stack is in it. */
  dir: string;
  /** Delete the state of earlier runs in the directory. */
  fresh?: boolean;
  /** A fixed port of the API; otherwise a free one is chosen and kept. */
  apiPort?: number;
  /**
   * "infrastructure" leaves out migrations, API server and operator. "prepared" is a management cluster that the chart
   * can be installed into: nothing of Marina is there, and Pods run (workloads.ts).
   */
  parts?: "all" | "infrastructure" | "prepared";
  /** In a prepared cluster the token of a ServiceAccount is replaced after this time, not after most of its life. */
  tokenRefreshSeconds?: number;
  /** Use this management cluster instead of the embedded one. */
  kubeconfig?: string;
  /** Plans whose class takes no cluster: Cluster API refuses every one, and no machine is created for it. */
  refusedPlans?: readonly string[];
  /** Extra variables of the API server. */
  apiserver?: Record<string, string>;
  /** Extra variables of the operator. */
  operator?: Record<string, string>;
  /** What tenant clusters run on: DEFAULT_PROVIDER as in `npm start`, or in memory where many are needed. */
  provider: ProviderName;
  /** Start none of Cluster API's managers, whose kinds are there: for what needs no tenant cluster, or simulates it. */
  withoutManagers?: boolean;
  /** Cluster API with its default flags but for ClusterTopology: no taints of pools reach nodes, and few labels. */
  withoutPropagation?: boolean;
  /** Log requests of the embedded kube-apiserver, see AUDIT_LOG. */
  audit?: Audit;
  /** When a part ends by itself: stop everything, or only report it. */
  onCrash?: "stop" | "report";
  /**
   * Ready as soon as the API answers: what is not built yet and not needed for that joins later. Otherwise ready when
   * every part is, and kubectl and helm are there.
   */
  answerEarly?: boolean;
  progress?: Progress;
  /** Stops the stack, also during its start. */
  signal?: AbortSignal;
}
