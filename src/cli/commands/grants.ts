import type { Runtime } from "../../runtime/build.ts";
import { type GrantRow, listGrants } from "../../runtime/grants.ts";
import { formatTable } from "../format.ts";

/** What models may ask for. Undefined if the configuration cannot be used. */
export function findGrants(runtime: Runtime | undefined): GrantRow[] | undefined {
  return runtime && listGrants(runtime.config, runtime.tools);
}

/** After which event, which call, in which mode, and what the model may fill. Nothing without grants. */
export function formatGrants(grants: GrantRow[] = []): string[] {
  if (grants.length === 0) return [];
  const rows = grants.map(({ after, call, mode, free, fixed, max }) => ({
    after,
    call,
    mode,
    "the model fills": free.join(", ") || "nothing",
    fixed: fixed.join(", ") || "nothing",
    "times a run": max ?? "any number",
  }));
  return ["", ...formatTable(rows)];
}
