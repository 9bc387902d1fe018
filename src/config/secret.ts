import { hash, timingSafeEqual } from "node:crypto";

/** Compares in a time that tells nothing about either secret, its length included: both are hashed first. */
export function sameSecret(one: string | Buffer, other: string | Buffer): boolean {
  return timingSafeEqual(hash("sha256", one, "buffer"), hash("sha256", other, "buffer"));
}
