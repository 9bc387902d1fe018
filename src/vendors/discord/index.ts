import { parseObject } from "../../core/shared/json.ts";
import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { toShortText } from "../signatures/handshake.ts";
import { discord as channel } from "./channel.ts";
import { readPress } from "./press.ts";

export const discord: Vendor = defineVendor({
  service: "Discord",
  signatures: {
    discord: defineSignature({
      docs: "https://docs.discord.com/developers/interactions/overview#validating-security-request-headers",
      header: "x-signature-ed25519",
      algorithm: "ed25519",
      timestamp: { header: "x-signature-timestamp", unit: "s" },
      signed: ["timestamp", "body"],
      deliveryId: "{{payload.id}}",
      /** Discord probes the address with wrong signatures too, and expects 401 for them. */
      handshake: {
        about: "`PING`; 401 for a wrong signature",
        answer({ body }) {
          const { type, version, event } = parseObject(toShortText(body));
          // Events have a version, and 0 for a ping. Interactions have 1.
          if (version !== undefined) return type === 0 ? { status: 204 } : undefined;
          return type === 1 && event === undefined ? { status: 200, body: { type: 1 } } : undefined;
        },
      },
      senderTimeoutMs: 3000,
    }),
  },
  channels: { discord: channel },
  readPress,
});
