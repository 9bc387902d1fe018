import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { SHOWN } from "../signatures/row.ts";
import { gitlab as comments } from "./comments.ts";
import { openMissed } from "./missed.ts";
import { webhooks } from "./webhooks.ts";

export const gitlab: Vendor = defineVendor({
  service: "GitLab",
  signatures: {
    gitlab: defineSignature({
      ...SHOWN,
      docs: "https://docs.gitlab.com/user/project/integrations/webhooks/",
      header: "x-gitlab-token",
      deliveryId: "{{default headers.idempotency-key headers.x-gitlab-event-uuid}}",
      senderTimeoutMs: 10_000,
    }),
  },
  channels: { gitlab: comments },
  webhooks,
  openMissed,
});
