// oidc-provider ships no types; these are the parts that identity-provider.ts uses.
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  export interface AccessToken {
    readonly clientId: string;
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
  }
}
