import type { Transport } from "../../../shared/kube/transport.ts";
import type { Pod, Projection } from "./kinds.ts";

type TokenSource = NonNullable<Projection["serviceAccountToken"]>;

interface Token {
  text: string;
  refreshAt: number;
}

/** The projected tokens of one Pod, bound to it. */
export interface Tokens {
  /** Requests each token of these sources that is missing or due. */
  refresh(sources: readonly TokenSource[]): Promise<void>;
  /** Throws for one that was not requested. */
  get: (source: TokenSource) => string;
}

/** A token is replaced after four fifths of its life, as by kubelet. */
const LIFE_FRACTION = 0.8;
const DEFAULT_LIFE_SECONDS = 3600;

/** When a token that was requested at `now` is to be replaced. */
export function refreshTime(now: number, lifeSeconds: number, refreshSeconds: number | undefined): number {
  return now + 1000 * (refreshSeconds ?? LIFE_FRACTION * lifeSeconds);
}

export function createTokens(transport: Transport, pod: Pod, refreshSeconds: number | undefined): Tokens {
  const tokens = new Map<string, Token>();
  const keyOf = ({ audience = "", path }: TokenSource): string => `${audience}/${path}`;
  const { name, namespace, uid } = pod.metadata;
  const account = pod.spec.serviceAccountName ?? "default";

  async function request({
    audience,
    expirationSeconds = DEFAULT_LIFE_SECONDS,
  }: TokenSource): Promise<Token> {
    const now = Date.now();
    const response = await transport.request({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {
          ...(audience && { audiences: [audience] }),
          expirationSeconds,
          boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
        },
      },
    });
    const body = response.body as { status?: { token?: string }; message?: string };
    if (body.status?.token === undefined)
      throw new Error(`no token for the ServiceAccount ${account}: ${body.message}`);
    return { text: body.status.token, refreshAt: refreshTime(now, expirationSeconds, refreshSeconds) };
  }

  return {
    async refresh(sources) {
      for (const source of sources) {
        const current = tokens.get(keyOf(source));
        if (current !== undefined && Date.now() < current.refreshAt) continue;
        tokens.set(keyOf(source), await request(source));
      }
    },
    get(source) {
      const token = tokens.get(keyOf(source));
      if (token === undefined) throw new Error("the token was not requested");
      return token.text;
    },
  };
}
