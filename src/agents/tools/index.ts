import type { DriverDefinition } from "../../core/ports/driver.ts";
import { http } from "./http.ts";
import { mcp } from "./mcp.ts";
import type { ToolSet } from "../../core/ports/tool-set.ts";

/** The built-in tool sets, by kind. */
export const tools: Record<string, DriverDefinition<ToolSet>> = { http, mcp };
