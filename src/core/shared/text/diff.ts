/** A line of a file's diff, with where it is in both versions of the file. */
export interface DiffLine {
  kind: "added" | "removed" | "same";
  /** Its number in the old file; of an added line, that of the next old one. */
  old: number;
  /** Its number in the new file; of a removed line, that of the next new one. */
  new: number;
  /** The number of its hunk in the file. */
  hunk: number;
}

const HUNK = /^@@ -(?<old>\d{1,9})(?:,(?<oldLines>\d{1,9}))? \+(?<new>\d{1,9})(?:,(?<newLines>\d{1,9}))? @@/;

/** The lines of the hunks of one file, as `git diff` writes them. Lines before the first hunk are ignored. */
export function parseHunks(patch: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let hunk = 0;
  let at = { old: 0, new: 0 };
  for (const line of patch.split("\n")) {
    const start = HUNK.exec(line)?.groups;
    if (start) {
      hunk += 1;
      at = { old: Number(start["old"]), new: Number(start["new"]) };
      continue;
    }
    const kind = hunk === 0 ? undefined : KINDS.get(line[0]);
    if (!kind) continue;
    lines.push({ kind, ...at, hunk });
    if (kind !== "added") at.old += 1;
    if (kind !== "removed") at.new += 1;
  }
  return lines;
}

/** By the first character. An empty line ends a text, and `\ No newline at end of file` belongs to the line before. */
const KINDS = new Map<string | undefined, DiffLine["kind"]>([
  ["+", "added"],
  ["-", "removed"],
  [" ", "same"],
]);

/** A diff of several files with the number of each line before it: of a removed line in the old file, else in the new one. */
export function numberLines(diff: string): string {
  let left = { old: 0, new: 0 };
  let at = { old: 0, new: 0 };
  const lines = diff.split("\n").map((line) => {
    const start = HUNK.exec(line)?.groups;
    if (start) {
      at = { old: Number(start["old"]), new: Number(start["new"]) };
      left = { old: Number(start["oldLines"] ?? 1), new: Number(start["newLines"] ?? 1) };
      return line;
    }
    // A removed line can look like the header of a file, so the hunk's length says where it ends.
    const kind = left.old > 0 || left.new > 0 ? KINDS.get(line[0]) : undefined;
    if (!kind) return line;
    const number = kind === "removed" ? at.old : at.new;
    for (const side of ["old", "new"] as const) {
      if (kind === (side === "old" ? "added" : "removed")) continue;
      at[side] += 1;
      left[side] -= 1;
    }
    return `${String(number).padStart(5)} ${line}`;
  });
  return lines.join("\n");
}
