import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { mattermost as channel } from "./channel.ts";
import { provesByButton, readPress } from "./press.ts";

export const mattermost: Vendor = defineVendor({
  service: "Mattermost",
  channels: { mattermost: channel },
  readPress,
  provesByButton,
});
