import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { webhooks } from "./webhooks.ts";

export const shopify: Vendor = defineVendor({
  service: "Shopify",
  signatures: {
    shopify: defineSignature({
      replay: "unique",
      docs: "https://shopify.dev/docs/apps/build/webhooks/verify-deliveries",
      header: "x-shopify-hmac-sha256",
      encoding: "base64",
      deliveryId: "{{headers.x-shopify-webhook-id}}",
      accept: 200,
      senderTimeoutMs: 5000,
    }),
  },
  webhooks,
});
