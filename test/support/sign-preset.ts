import { readConfig } from "../../src/service/drivers.ts";
import type { SignedParts } from "../../src/core/ports/signature.ts";
import { createVerifier } from "./signatures.ts";

/** The secret of a preset in tests: some want a user and a password. */
export function secretOf(name: string): string {
  const secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  return ["azuredevops", "betterstack", "jenkins"].includes(name) ? `hook:${secret}` : secret;
}

/** Signs a body as the sender of a preset does. */
export async function signAs(name: string, body: Buffer, { secret, url }: Secrets): Promise<SignedParts> {
  const { config } = await readConfig({ hooks: { presets: [{ use: name, with: { secret, ...MORE[name] } }] } }, {});
  const { scheme = "", ...options } = config.hooks.mappings[0]?.mapping.auth ?? {};
  const verifier = await createVerifier(scheme, { ...options, secret });
  const now = Date.now();
  const signed = await verifier.sign?.({ method: "POST", url, body, contentType: "application/json", now });
  if (!signed) throw new Error(`${scheme} cannot be signed`);
  return signed;
}

interface Secrets {
  secret: string;
  /** The hook's address, as the sender knows it. */
  url: string;
}

const MORE: Record<string, object> = { whatsapp: { verifyToken: "v" } };
