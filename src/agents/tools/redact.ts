/** Shorter values are words that a text can have anyway. */
const MIN_SECRET = 6;

const REDACTED = "[redacted]";

/** Replaces the secrets of a tool set in a text, as they are, URL-encoded, in JSON and in base64. */
export type Redact = (text: string) => string;

/** `values`: of the headers and the environment of the set. The longest form of any of them is not longer than `margin`. */
export function createRedaction(values: Iterable<string>): { redact: Redact; margin: number } {
  const secrets = new Set(Array.from(values).flatMap(toSecrets));
  const forms = [...new Set([...secrets].flatMap(toForms))].toSorted((one, other) => other.length - one.length);
  const margin = forms[0]?.length ?? 0;
  if (forms.length === 0) return { redact: (text) => text, margin };
  const pattern = new RegExp(forms.map((form) => RegExp.escape(form)).join("|"), "g");
  return { redact: (text) => text.replaceAll(pattern, REDACTED), margin };
}

/** The value, the credential after a scheme (`Bearer …`), and the password in a Basic credential. */
function toSecrets(value: string): string[] {
  const text = value.trim();
  const [, scheme = "", credential = ""] = /^(\S+)\s+(\S.*)$/s.exec(text) ?? [];
  const decoded = /^basic$/i.test(scheme) ? Buffer.from(credential, "base64").toString("utf8") : "";
  const password = decoded.slice(decoded.indexOf(":") + 1);
  return [text, credential, decoded, password].filter((secret) => secret.length >= MIN_SECRET);
}

function toForms(secret: string): string[] {
  const encoded = encodeURIComponent(secret);
  return [
    secret,
    encoded,
    encoded.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    encoded.replaceAll("%20", "+"),
    JSON.stringify(secret).slice(1, -1),
    // PHP escapes slashes.
    JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/"),
    ...toBase64(secret),
  ].filter((form) => form.length >= MIN_SECRET);
}

/**
 * The characters of base64 that depend on the secret alone, at each of the three places at which it can begin in a longer
 * text; also in the alphabet for URLs.
 */
function toBase64(secret: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    const first = Math.ceil((offset * 8) / 6);
    const end = Math.floor((bytes.length * 8) / 6);
    const base64 = bytes.toString("base64").slice(first, end);
    return [base64, base64.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
