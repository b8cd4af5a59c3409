/** SEC-101, by name: for environment values and structured fields alone. In text a name is no secret. */
const secretName = /KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL|AUTH|COOKIE|DSN/i;

/** Whether the value of a variable or a structured field of this name is a secret. */
export const isSecretName = (name: string): boolean => secretName.test(name);
