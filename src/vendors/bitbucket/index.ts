import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { bitbucket as comments } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

export const bitbucket: Vendor = defineVendor({
  service: "Bitbucket",
  channels: { bitbucket: comments },
  webhooks,
});
