import { earliest } from "../../shared/controller/earliest.ts";
import { isAutoscaled } from "../../shared/crd/autoscaling.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { EngineMachine, EnginePoolState } from "../engine/pool-state.ts";

/** How far a pool is from what is wanted. */
export interface PoolProgress {
  /** `absent`: the engine has not made it yet; `unhealthy`: only sick nodes are missing from what is wanted. */
  state: "absent" | "scaling" | "rollingOut" | "unhealthy" | "settled";
  /** Nodes wanted: of a fixed pool what its owner asks for, of others what the engine is asked for. */
  wanted: number;
  nodes: number;
  readyNodes: number;
  upToDateNodes: number;
  version: string | undefined;
  /** Machines that have been sick for longer than the threshold. */
  sick: readonly EngineMachine[];
  /** Machines that have no node yet, the oldest first; of one second, by name. */
  joining: readonly EngineMachine[];
  /** When the next sick machine passes the threshold; undefined = none is on its way. */
  nextSickInMs: number | undefined;
}

/**
 * Measures a pool. Counters that the engine does not report keep their last value: they vanish for a second now and
 * then. A pool scales while the counts differ and nothing rolls out; the engine's own words for it end too early.
 * `heldBack`: a rule does not let it become what its owner asks for, so that it stays as the engine has it.
 */
export function measurePool(
  pool: NodePool,
  engine: EnginePoolState | undefined,
  machines: readonly EngineMachine[],
  { nodeDegradedAfterSeconds, heldBack }: { nodeDegradedAfterSeconds: number; heldBack: boolean },
  now: Date,
): PoolProgress {
  const last = pool.status;
  const wanted =
    isAutoscaled(pool.spec) || heldBack
      ? (engine?.desired ?? pool.spec.desiredNodes)
      : pool.spec.desiredNodes;
  const nodes = engine?.nodes ?? last?.nodes ?? 0;
  const readyNodes = engine?.readyNodes ?? last?.readyNodes ?? 0;
  const ailing = machines.filter((machine) => machine.unhealthy !== undefined);
  const dueInMs = (machine: EngineMachine) =>
    Date.parse(machine.unhealthy?.since ?? "") + nodeDegradedAfterSeconds * 1000 - now.getTime();
  const pending = ailing.map(dueInMs).filter((ms) => ms > 0);
  return {
    state: judge(engine, wanted, nodes, readyNodes, ailing.length),
    wanted,
    nodes,
    readyNodes,
    upToDateNodes: engine?.upToDateNodes ?? last?.upToDateNodes ?? 0,
    // Without nodes nothing runs: what the last ones ran is behind for ever once the cluster is upgraded.
    version: engine?.nodes === 0 ? undefined : (engine?.version ?? last?.version),
    sick: ailing.filter((machine) => dueInMs(machine) <= 0),
    joining: machines
      .filter((machine) => machine.node === undefined && !machine.deleting)
      .sort((left, right) => compare(left.createdAt, right.createdAt) || compare(left.name, right.name)),
    nextSickInMs: earliest(pending),
  };
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function judge(
  engine: EnginePoolState | undefined,
  wanted: number,
  nodes: number,
  readyNodes: number,
  ailing: number,
): PoolProgress["state"] {
  if (engine === undefined) return "absent";
  if (engine.rollingOut) return "rollingOut";
  if (!engine.observed || engine.desired !== wanted || nodes !== wanted) return "scaling";
  if (readyNodes >= wanted) return "settled";
  return readyNodes + ailing >= wanted ? "unhealthy" : "scaling";
}
