import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { chatwoot as comments } from "./comments.ts";

export const chatwoot: Vendor = defineVendor({
  service: "Chatwoot",
  channels: { chatwoot: comments },
});
