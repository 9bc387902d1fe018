import { createHash } from "node:crypto";
import type { Log } from "../../core/telemetry/log.ts";

/** Each costs memory of each connection. Texts that are put together for a search could be many. */
const MAX_NAMES = 200;

export interface StatementNames {
  /** undefined: the statement is sent without a name. */
  find(text: string, values: readonly unknown[]): string | undefined;
  areUsed(): boolean;
  /** No statement has a name from now on. */
  stop(): void;
}

/**
 * Names of the statements of a pool: the server plans one with a name once for each connection, which takes longer than to
 * execute it. A pooler that shares connections between transactions may lose them.
 */
export function createNames(log: Log): StatementNames {
  const names = new Map<string, string>();
  let areUsed = true;
  return {
    find(text, values) {
      // One without values may be several.
      if (!areUsed || values.length === 0) return undefined;
      const known = names.get(text);
      if (known !== undefined || names.size === MAX_NAMES) return known;
      const name = toName(text);
      names.set(text, name);
      return name;
    },
    areUsed: () => areUsed,
    stop() {
      if (areUsed) log.info("the database or a pooler before it has lost a prepared statement: none is used any more");
      areUsed = false;
      names.clear();
    },
  };
}

/** The same on each connection: what another one has prepared there is the same statement. */
function toName(text: string): string {
  return `hookline_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}
