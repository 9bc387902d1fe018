import type { ChannelDriver } from "../ports/channel.ts";
import { findFences, splitOnce } from "../shared/text/split-text.ts";

/** A reply of many messages is a nuisance where it arrives. */
const MAX_PARTS = 10;

const CONTINUED = "continued on the operator's page";

/** Splits a text into messages that fit the channel as it shows them. A longer text ends with a note. */
export async function splitIntoParts(
  text: string,
  {
    limit,
    measure,
    measureMarkdown,
    maxParts = MAX_PARTS,
  }: Pick<ChannelDriver, "limit" | "maxParts" | "measure" | "measureMarkdown">,
  format?: "markdown",
): Promise<{ parts: string[]; isCut: boolean }> {
  const definitions = format === "markdown" ? findDefinitions(text, limit) : [];
  const complete = (part: string): string => addDefinitions(part, definitions);
  const measurePart = async (part: string): Promise<number> =>
    format === "markdown" && measureMarkdown ? measureMarkdown(part) : (measure?.(part) ?? part.length);

  /** The longest part that fits, with the text that is added to it. The shown text may be longer than the written one. */
  const take = async (rest: string, finish: (part: string) => string): Promise<{ part: string; tail: string }> => {
    for (let size = limit; ;) {
      const { head, tail } = splitOnce(rest, { limit: size, measure });
      const part = finish(head);
      const length = await measurePart(part);
      if (length <= limit || size <= 1) return { part, tail };
      size = Math.max(1, Math.min(size - 1, Math.floor((size * limit) / length)));
    }
  };

  const parts: string[] = [];
  for (let rest = text; rest.trim() !== "";) {
    const next = await take(rest, complete);
    if (parts.length === maxParts - 1 && next.tail.trim() !== "") {
      const last = await take(rest, (part) => `${complete(part)}\n\n${CONTINUED}`);
      return { parts: [...parts, last.part], isCut: true };
    }
    if (next.part.trim() !== "") parts.push(next.part);
    rest = next.tail;
  }
  return { parts, isCut: false };
}

interface Definition {
  /** The name that links use. */
  label: string;
  line: string;
}

/** The addresses that links name by a label. Each part needs those of its own links. A very long one would fill a part. */
function findDefinitions(text: string, limit: number): Definition[] {
  const fences = findFences(text);
  return Array.from(text.matchAll(/^ {0,3}\[([^\]\n^][^\]\n]*)\]:[ \t]*\S[^\n]*$/gm))
    .filter(({ index, 0: line }) => line.length < limit / 8 && !fences.some((f) => f.start <= index && index < f.end))
    .map(({ 0: line, 1: label = "" }) => ({ label: `[${label.toLowerCase()}]`, line: line.trim() }));
}

function addDefinitions(part: string, definitions: Definition[]): string {
  const lower = part.toLowerCase();
  const missing = definitions.filter(({ label, line }) => lower.includes(label) && !part.includes(line));
  return missing.length === 0 ? part : `${part}\n\n${missing.map(({ line }) => line).join("\n")}`;
}
