import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { googlechat as channel } from "./channel.ts";

export const googlechat: Vendor = defineVendor({
  service: "Google Chat",
  channels: { googlechat: channel },
});
