import { createHmac, timingSafeEqual } from "node:crypto";
import type { SignatureDefinition } from "./provider.ts";

const github: SignatureDefinition<{ secret: string | string[] }> = {
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["secret"],
    properties: {
      secret: { type: ["string", "array"], minLength: 1, minItems: 1, items: { type: "string", minLength: 1 } },
    },
  },
  docs: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
  deliveryId: "{{headers.x-github-delivery}}",
  create({ secret }) {
    const sign = (key: string, body: Buffer): string =>
      `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;
    const secrets = [secret].flat();
    return {
      presents: ({ headers }) => headers["x-hub-signature-256"] !== undefined,
      verify({ headers, body }) {
        const given = Buffer.from(String(headers["x-hub-signature-256"]));
        const isValid = secrets.some((key) => {
          const expected = Buffer.from(sign(key, body));
          return expected.length === given.length && timingSafeEqual(expected, given);
        });
        return isValid ? "valid" : { reason: "wrong", message: "The signature is wrong." };
      },
      sign: ({ body }) => ({ headers: { "x-hub-signature-256": sign(secrets[0] ?? "", body) } }),
    };
  },
};

/** The built-in signature schemes, by name. */
export const providers: Record<string, SignatureDefinition> = { github };
