import { appendSegment, toText } from "../../shared/json.ts";
import type { ResolvedConfig } from "../types.ts";
import { error, type Finding, warning } from "./finding.ts";

/** Kinds whose calls go where the operator wrote, so that nobody else sees what is asked. */
const KINDS_WITH_ADDRESSES = ["http"];

/** Each tool set says who can see what is asked of it. */
export function checkTools({ agents }: ResolvedConfig): Finding[] {
  return Object.entries(agents.tools).flatMap(([name, { kind, audience, options }]) => {
    const key = appendSegment("agents.tools", name);
    const isPlain = toText(options["baseUrl"] ?? options["url"]).startsWith("http:") && options["private"] !== true;
    return [
      ...(audience === undefined && !KINDS_WITH_ADDRESSES.includes(kind)
        ? [error(`${key}.audience`, 'Set "private" or "public": the server of this set may fetch any address.')]
        : []),
      ...(isPlain ? [warning(key, "The calls are sent unencrypted over http. Use https, or set private: true.")] : []),
    ];
  });
}
