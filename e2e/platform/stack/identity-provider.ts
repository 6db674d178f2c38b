import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AccessToken, Provider } from "oidc-provider";
import type { IdentityProviderSettings } from "./identity.ts";
import { AUDIENCE, isUserName, TOKEN_LIFETIME_SECONDS, USERS, type User } from "./users.ts";

/** Runs as a separate program: `node identity-provider.ts <settings file>`. */

function userOf(token: AccessToken): User {
  if (!isUserName(token.clientId)) throw new Error(`no user ${token.clientId}`);
  return USERS[token.clientId];
}

// The claims of Keycloak's access tokens that the API server reads.
function claimsOf(user: User): object {
  return {
    email: user.email,
    email_verified: true,
    name: user.fullName,
    preferred_username: user.name,
    realm_access: { roles: user.roles },
  };
}

function createProvider(settings: IdentityProviderSettings): Provider {
  return new Provider(settings.issuer, {
    jwks: { keys: [settings.signingKey] },
    clients: Object.keys(USERS).map((name) => ({
      client_id: name,
      client_secret: settings.clientSecret,
      grant_types: ["client_credentials"],
      response_types: [],
      redirect_uris: [],
    })),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => `urn:${AUDIENCE}`,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "",
          audience: AUDIENCE,
          accessTokenTTL: TOKEN_LIFETIME_SECONDS,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
    extraTokenClaims: (_context: unknown, token: AccessToken) => claimsOf(userOf(token)),
    formats: {
      customizers: {
        jwt(_context: unknown, token: AccessToken, jwt: { payload: Record<string, unknown> }) {
          jwt.payload.sub = userOf(token).sub;
        },
      },
    },
  });
}

const [settingsFile] = process.argv.slice(2);
if (settingsFile === undefined) throw new Error("usage: node identity-provider.ts <settings file>");
const settings: IdentityProviderSettings = JSON.parse(readFileSync(settingsFile, "utf8"));
const { tls } = settings;
const handler = createProvider(settings).callback();
const server =
  tls === undefined
    ? createServer(handler)
    : createTlsServer({ cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) }, handler);
server.listen(settings.port, settings.address ?? "127.0.0.1");
process.once("SIGTERM", () => {
  server.close();
  server.closeAllConnections();
});
