/** What a pool gets where its specification says nothing, also when these change later. */
export interface PoolDefaults {
  drainTimeoutSeconds: number;
  scaleDownDelaySeconds: number;
  scaleDownUtilizationPercent: number;
}
