import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { codeOf } from "../../core/errors.ts";

/** Encrypts the secrets of subscriptions. A secret can be read only for the subscription that it was written for. */
export interface SecretBox {
  encrypt(secret: string, subscription: string): string;
  /** undefined: it was written with another key, or for another subscription. */
  decrypt(encrypted: string, subscription: string): string | undefined;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** `keys`: the first encrypts, all decrypt. */
export function createSecretBox(keys: readonly string[]): SecretBox {
  const derived = keys.map((text) => Buffer.from(hkdfSync("sha256", text, "", "hookline subscriptions v1", 32)));
  const byId = new Map(derived.map((key) => [idOf(key), key]));
  const [current] = derived;
  if (!current) throw new Error("There is no key for the secrets of subscriptions.");

  return {
    encrypt(secret, subscription) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", current, iv).setAAD(Buffer.from(subscription));
      const encrypted = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return `${idOf(current)}.${Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString("base64url")}`;
    },
    decrypt(encrypted, subscription) {
      const [id = "", text = ""] = encrypted.split(".");
      const key = byId.get(id);
      const bytes = Buffer.from(text, "base64url");
      if (!key || bytes.length < IV_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(subscription))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      try {
        return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
      } catch {
        return undefined;
      }
    },
  };
}

function idOf(key: Buffer): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 8);
}

/** The key of a state folder, which is made at its first use. Only its owner can read it. */
export function loadKeyFile(folder: string): string {
  const file = path.join(folder, "mcp.key");
  try {
    writeFileSync(file, randomBytes(32).toString("base64url"), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  return readFileSync(file, "utf8").trim();
}

/** `whsec_` and the base64 of 24 to 64 bytes. */
export function isSigningSecret(text: string): boolean {
  const [, encoded] = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(text) ?? [];
  const { length } = Buffer.from(encoded ?? "", "base64");
  return length >= 24 && length <= 64;
}

/** The headers of a message as Standard Webhooks sign it, with each of the secrets. */
export function signMessage(
  { id, body, now }: { id: string; body: string; now: number },
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}
