/** Values for fields that a pool does not set; they also apply when they change later. */
export interface PoolDefaults {
  drainTimeoutSeconds: number;
  scaleDownDelaySeconds: number;
  scaleDownUtilizationPercent: number;
}
