/** When a client may read again what was accepted with 202. */
export const RETRY_AFTER = { "Retry-After": "10" };
