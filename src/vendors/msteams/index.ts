import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { msteams as channel } from "./channel.ts";
import { signature } from "./signature.ts";

export const msteams: Vendor = defineVendor({
  service: "Microsoft Teams",
  signatures: { msteams: signature },
  channels: { msteams: channel },
});
