/**
 * Preloaded into a program (`--import`), it sets that program's clock CLOCK_AHEAD_MS ahead. `Date` is shifted, timers
 * are not, as on a machine whose clock is wrong.
 */
const aheadMs = Number(process.env.CLOCK_AHEAD_MS);
const now = Date.now.bind(Date);

globalThis.Date = new Proxy(Date, {
  construct: (target, args) => Reflect.construct(target, args.length === 0 ? [now() + aheadMs] : args),
  get: (target, name) => (name === "now" ? () => now() + aheadMs : Reflect.get(target, name)),
});
