import { createHmac } from "node:crypto";

/** Signs texts with the key of a store. */
export function createSign(key: Uint8Array): (text: string) => Uint8Array {
  return (text) => createHmac("sha256", key).update(text).digest();
}
