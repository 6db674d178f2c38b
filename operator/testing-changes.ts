import type { Controller } from "../shared/controller/controller.ts";
import type { KubeObject } from "../shared/kube/kind.ts";
import type { Change } from "../shared/kube/reflector.ts";
import type { Cached, CacheSet, Caches, Listener } from "./caches.ts";

interface ChangeOf<T> {
  type?: Change<KubeObject>["type"];
  previous?: T;
  object: T;
}

export type Watch = (cacheSet: CacheSet, controller: Pick<Controller, "add">) => void;

/** The keys that a controller with these caches adds when an object of this cache is updated, or changes otherwise. */
export function findWoken<Name extends keyof Cached>(
  watch: Watch,
  caches: Partial<Caches>,
  name: Name,
  { type = "updated", previous, object }: ChangeOf<Cached[Name]>,
): string[] {
  const listeners: Listener<KubeObject>[] = [];
  const listen = (cache: string, listener: Listener<KubeObject>) => {
    if (cache === name) listeners.push(listener);
  };
  const added: string[] = [];
  watch({ caches, listen } as unknown as CacheSet, { add: (key) => added.push(key) });
  for (const listener of listeners) listener({ type, previous, object, initial: false });
  return added;
}
