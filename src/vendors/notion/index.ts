import { parseObject } from "../../core/shared/json.ts";
import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { isShortPost, isShowable, OK, toShortText } from "../signatures/handshake.ts";
import { notion as comments } from "./comments.ts";

export const notion: Vendor = defineVendor({
  service: "Notion",
  signatures: {
    notion: defineSignature({
      replay: "unique",
      docs: "https://developers.notion.com/reference/webhooks",
      header: "x-notion-signature",
      prefix: "sha256=",
      deliveryId: "{{payload.id}}",
      /** The token that Notion sends once is the secret. It is only shown: anyone could send one. */
      handshake: {
        about: "`verification_token`, shown to the operator",
        mayBeUnsigned: isShortPost,
        answer({ method, body }) {
          const { verification_token: token, ...rest } = parseObject(toShortText(body));
          if (method !== "POST" || !isShowable(token) || Object.keys(rest).length > 0) {
            return undefined;
          }
          const note = `Notion sent the verification token ${token}. If you have just created the subscription, enter it at Notion and set it as auth.secret.`;
          return { ...OK, note };
        },
      },
    }),
  },
  channels: { notion: comments },
});
