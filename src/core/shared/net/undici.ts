import type * as Undici from "undici";
import { loadAtFirstUse } from "../system/package.ts";

/** Connections for `fetch` with other limits or another lookup than Node's own. */
export const undici = loadAtFirstUse<typeof Undici>("undici");
