import { lineBefore, removal, type Splice } from "./splice.ts";
import { rangeOf, type YamlPlace } from "./yaml-place.ts";

/** Takes a pair out of its map. undefined: it is no pair, or not written as one usually is. */
export function removeYaml(text: string, { pair, owner }: YamlPlace): Splice[] | undefined {
  if (!pair || !owner) return undefined;
  const from = rangeOf(pair.key)[0];
  const to = Math.max(rangeOf(pair.key)[1] + 1, rangeOf(pair.value)[1]);
  if (owner.flow) return [removeFromFlow(text, from, to)];
  if (lineBefore(text, from).trim() !== "") return undefined;
  return [removeLines(text, from, to)];
}

/** A text block ends behind its last line break, which goes with it. */
function removeLines(text: string, from: number, to: number): Splice {
  if (lineBefore(text, to) !== "") return removal(text, from, to);
  return { from: from - lineBefore(text, from).length, to, text: "" };
}

/** With the comma behind it, else with the one before it. */
function removeFromFlow(text: string, from: number, to: number): Splice {
  const comma = /^\s*,[ \t]*/.exec(text.slice(to))?.[0].length;
  if (comma !== undefined) return { from, to: to + comma, text: "" };
  const before = /,\s*$/.exec(text.slice(0, from))?.[0].length ?? 0;
  return { from: from - before, to, text: "" };
}
