import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { whatsapp as channel } from "./channel.ts";

export const whatsapp: Vendor = defineVendor({
  service: "WhatsApp",
  channels: { whatsapp: channel },
});
