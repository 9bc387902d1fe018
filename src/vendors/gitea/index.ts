import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { gitea as comments } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

export const gitea: Vendor = defineVendor({
  service: "Gitea",
  signatures: {
    gitea: defineSignature({
      replay: "unique",
      docs: "https://docs.gitea.com/usage/repository/webhooks",
      header: ["x-forgejo-signature", "x-gitea-signature", "x-gogs-signature"],
      deliveryId: "{{default headers.x-gitea-delivery headers.x-gogs-delivery}}",
      senderTimeoutMs: 5000,
    }),
  },
  channels: { gitea: comments },
  webhooks,
});
