import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import type { Values } from "./values.ts";

const KEY_ID = "second";
const LIFETIME_SECONDS = 600;
const CLAIMS = "https://marina.example.com/";
const STAFF = "platform/staff";
const GROUP = "/acme/developers";

export interface SecondIssuer {
  /** The values of a release with this issuer besides those that they have; its group is mapped to the organization. */
  addTo(values: Values, orgID: string): Values;
  /** A token of a tenant who is in the group. */
  signTenant(): Promise<string>;
  /** A token of the platform's staff. */
  signStaff(): Promise<string>;
  close(): void;
}

/** An issuer of another form than the stack's: no type, no UUIDs, claims by other names. */
export async function startSecondIssuer(): Promise<SecondIssuer> {
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const keys = [{ ...(await exportJWK(publicKey)), kid: KEY_ID, alg: "RS256" }];
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sign = (uid: string, claims: JWTPayload) =>
    new SignJWT({
      uid,
      [`${CLAIMS}email`]: `${uid}@second.example.com`,
      [`${CLAIMS}email_verified`]: true,
      ...claims,
    })
      .setProtectedHeader({ alg: "RS256", kid: KEY_ID })
      .setIssuer(url)
      .setAudience("second")
      .setSubject("not the person")
      .setExpirationTime(`${LIFETIME_SECONDS}s`)
      .sign(privateKey);
  return {
    addTo(values, orgID) {
      const { issuers } = values.oidc as { issuers: object[] };
      const second = {
        issuer: url,
        audience: ["marina", "second"],
        jwksUrl: `${url}/keys`,
        subjectClaim: "uid",
        uuidSubjects: false,
        idNamespace: "https://former.example.com",
        emailClaim: `${CLAIMS}email`,
        emailVerifiedClaim: `${CLAIMS}email_verified`,
        trustEmail: true,
        admin: true,
        rolesClaim: ["resource_access", "my.client", "roles"],
        staffRole: STAFF,
        groupsClaim: `${CLAIMS}groups`,
        groups: [{ group: GROUP, organization: orgID, role: "viewer" }],
        groupsGraceSeconds: 60,
        types: [""],
        clockToleranceSeconds: 10,
      };
      return { ...values, oidc: { issuers: [...issuers, second] } };
    },
    signTenant: () => sign("tenant", { [`${CLAIMS}groups`]: [GROUP] }),
    signStaff: () => sign("staff", { resource_access: { "my.client": { roles: STAFF } } }),
    close: () => void server.close(),
  };
}
