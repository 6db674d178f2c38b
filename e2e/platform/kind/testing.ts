import type { KindSettings } from "./settings.ts";

/** Settings with secrets that open nothing. */
export function composeTestSettings(dir: string): KindSettings {
  return {
    dir,
    secrets: {
      postgresPassword: "postgres-password",
      ownerPassword: "owner-password",
      apiserverPassword: "apiserver-password",
      clientSecret: "client-secret",
      webhookKey: Buffer.alloc(32).toString("base64"),
      objectStoreKey: "object-store-key",
      registryKey: "registry-key",
      registryNotificationToken: "notification-token",
      signingKey: { kty: "RSA" },
    },
    certificates: { ca: "ca", cert: "cert", key: "key" },
    imageTag: "0123456789ab",
    chartDigests: { marina: "marina-digest", "marina-classes": "classes-digest" },
  };
}
