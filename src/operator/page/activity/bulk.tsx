import type { JSX } from "preact";
import type { Filter } from "../row.ts";

export function Bulk(_: { shown: string; filter: Filter }): JSX.Element | null {
  return null;
}
