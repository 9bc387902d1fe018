import type * as CssTree from "css-tree";
import { loadAtFirstUse } from "../system/package.ts";

/** Loaded with the first text in HTML. */
export const cssTree = loadAtFirstUse<typeof CssTree>("css-tree");
