/** A key by its prefix, or one that was masked with asterisks. */
const KEY_LIKE = /\b(?:sk|pk|rk)[-_][\w*.-]{4,}|[^\s*]{0,40}\*{3,}\S*/gi;
const URL_CREDENTIALS = /(https?:\/\/)[^\s/@]+@/gi;
const URL_QUERY = /(https?:\/\/[^\s?#]+)[?#][^\s]*/gi;

/** A shorter value would blank out ordinary words, and is no secret. */
const SHORTEST_SECRET = 6;

/** An agent's own words on one line, without the secrets it was given: many quote the key they refuse, whole or masked. */
export function withoutSecrets(message: string, secrets: string[]): string {
  const cleared = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .reduce((text, secret) => text.replaceAll(secret, "[redacted]"), message);
  return cleared
    .replaceAll(KEY_LIKE, "[redacted]")
    .replaceAll(URL_CREDENTIALS, "$1")
    .replaceAll(URL_QUERY, "$1")
    .replaceAll(/\s+/g, " ")
    .trim();
}
