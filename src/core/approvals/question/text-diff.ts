import type * as Diff from "diff";
import { loadAtFirstUse } from "../../shared/system/package.ts";

const diff = loadAtFirstUse<typeof Diff>("diff");

/** A line, or a word, that was added or removed, or that stays. */
export interface ChangedLine {
  kind: "added" | "removed" | "same";
  text: string;
}

/** Lines that stay, before and after a change. */
const CONTEXT = 3;
/** Two texts that have nothing in common cost the product of their lines. */
const MAX_EDITS = 2000;

/** The parts of two texts that differ, each with a few lines around it. Undefined if comparing them takes too long. */
export function toHunks(before: string, after: string, maxEdits = Infinity): Diff.StructuredPatchHunk[] | undefined {
  return diff().structuredPatch("", "", before, after, "", "", { context: CONTEXT, maxEditLength: maxEdits })?.hunks;
}

/** Their lines. Undefined if too many of them differ. */
export function toChangedLines(before: string, after: string): ChangedLine[] | undefined {
  const [old, now] = [before, after].map((text) => `${text.replace(/\n$/, "")}\n`);
  return toHunks(old ?? "", now ?? "", MAX_EDITS)?.flatMap(({ lines }) => lines.map(toChangedLine));
}

function toChangedLine(line: string): ChangedLine {
  return { kind: KINDS[line[0] ?? ""] ?? "same", text: line.slice(1) };
}

const KINDS: Record<string, ChangedLine["kind"]> = { "+": "added", "-": "removed" };

/** The words of two texts: those that were removed, those that were added, and those that stay. Too many: the texts as a whole. */
export function toChangedWords(before: string, after: string): ChangedLine[] {
  const parts = diff().diffWordsWithSpace(before, after, { maxEditLength: MAX_EDITS });
  if (!parts)
    return [
      { kind: "removed", text: before },
      { kind: "added", text: after },
    ];
  return parts.map(({ added, removed, value: text }) => ({
    kind: added ? "added" : removed ? "removed" : "same",
    text,
  }));
}
