const SECRET_NAME =
  /^(?:.*_)?(?:secrets?|secret_hash|tokens?|accessToken|password|passphrase|kubeconfig|authorization|cookie|credentials?|private_?key|api_key)$/i;

/** Whether the values of a field with this name are secret: neither the log nor an audit row may hold them. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}
