import type { ChangedLine } from "./text-diff.ts";

/** The part of a patch that is about one file. */
interface FileDiff {
  name: string;
  lines: ChangedLine[];
}

/** A patch of Git, in base64, file by file, with the lines that say what else has changed. A byte that is no text is shown as such. */
export function toFileDiffs(patch: string): FileDiff[] {
  const text = Buffer.from(patch, "base64").toString("utf8");
  const parts = text.split(/^(?=diff --git )/m).filter((part) => part.startsWith("diff --git "));
  return parts.map((part) => {
    const [header = "", ...rest] = part.replace(/\n$/, "").split("\n");
    const start = rest.findIndex((line) => /^(?:@@ |GIT binary patch)/.test(line));
    const [about, body] = start === -1 ? [rest, []] : [rest.slice(0, start), rest.slice(start)];
    return { name: toName(header), lines: [...about.flatMap(toHeaderLine), ...toBody(body)] };
  });
}

/** `diff --git a/src/a.ts b/src/a.ts`: both names are equal, since nothing is renamed. */
function toName(header: string): string {
  const names = header.slice("diff --git ".length);
  const half = names.slice(0, (names.length - 1) / 2);
  return half.replace(/^"?a\//, "").replace(/"$/, "");
}

/** A new file, a removed one, another mode. */
function toHeaderLine(line: string): ChangedLine[] {
  return /^(?:new|deleted|old) /.test(line) ? [{ kind: "same", text: line }] : [];
}

function toBody(lines: readonly string[]): ChangedLine[] {
  if (lines[0] === "GIT binary patch") return [{ kind: "same", text: "a binary file, which is not shown" }];
  return lines.map((line) => {
    if (line.startsWith("@@ ") || line.startsWith("\\")) return { kind: "same", text: line };
    return { kind: KINDS[line[0] ?? ""] ?? "same", text: line.slice(1) };
  });
}

const KINDS: Record<string, ChangedLine["kind"]> = { "+": "added", "-": "removed" };
