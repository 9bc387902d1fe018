import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { sentry as comments } from "./comments.ts";

export const sentry: Vendor = defineVendor({
  service: "Sentry",
  signatures: {
    sentry: defineSignature({
      replay: "unique",
      docs: "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
      header: "sentry-hook-signature",
      deliveryId: "{{headers.request-id}}",
      senderTimeoutMs: 1000,
    }),
  },
  channels: { sentry: comments },
});
