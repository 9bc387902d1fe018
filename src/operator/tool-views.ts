import type { AuthorityRow } from "../core/ports/authority.ts";
import type { Runtime } from "../core/ports/runtime.ts";

/** The tool sets in use. */
export interface ToolsView {
  sets: ToolSetView[];
  /** A row for each credential. */
  authority: AuthorityRow[];
}

interface ToolSetView {
  name: string;
  kind: string;
  audience: "private" | "public";
  /** Calls that change something are not sent. */
  dryRun: boolean;
  /** Its calls are those of tools.lock.json. */
  locked: boolean;
  calls: ToolCallView[];
  /** Calls that cannot be used, and why. */
  leftOut: { call: string; reason: string }[];
}

interface ToolCallView {
  call: string;
  description: string;
  /** JSON Schema of the arguments. */
  input: object;
}

export function toToolsView(
  { config, tools }: Pick<Runtime, "config" | "tools">,
  authority: AuthorityRow[],
): ToolsView {
  const sets = Array.from(tools.sets, ([name, { audience, calls, leftOut, discover }]) => {
    const { kind = "", dryRun = false } = config.agents.tools[name] ?? {};
    const views = calls.map(({ fullName, description, input }) => ({ call: fullName, description, input }));
    return {
      name,
      kind,
      audience,
      dryRun,
      locked: discover !== undefined,
      calls: views,
      leftOut: leftOut.map((call) => ({ call: `${name}.${call.name}`, reason: call.reason })),
    };
  });
  return { sets, authority };
}
