import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { OK } from "../signatures/handshake.ts";
import { github as comments } from "./comments.ts";
import { openMissed } from "./missed.ts";
import { webhooks } from "./webhooks.ts";
import { readMessage } from "./message.ts";

export const github: Vendor = defineVendor({
  service: "GitHub",
  signatures: {
    github: defineSignature({
      replay: "unique",
      docs: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
      header: "x-hub-signature-256",
      prefix: "sha256=",
      deliveryId: "{{headers.x-github-delivery}}",
      handshake: {
        about: "`ping`",
        answer: ({ headers }) => (headers["x-github-event"] === "ping" ? OK : undefined),
      },
      senderTimeoutMs: 10_000,
    }),
  },
  channels: { github: comments },
  webhooks,
  openMissed,
  readMessage,
});
