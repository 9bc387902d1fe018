export interface WordPart {
  kind: "same" | "removed" | "added";
  text: string;
}

/** Longer texts are compared as a whole: the work grows with the square of their length. */
const MAX_WORDS = 600;

/** The longest sequence of words that both have, and what is around it: first what was removed, then what was added. */
export function diffWords(before: string, after: string): WordPart[] {
  const [one, other] = [toWords(before), toWords(after)];
  if (one.length > MAX_WORDS || other.length > MAX_WORDS)
    return join([part("removed", [before]), part("added", [after])]);
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  let end = 0;
  while (end < Math.min(one.length, other.length) - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const middle = diffMiddle(one.slice(start, one.length - end), other.slice(start, other.length - end));
  return join([part("same", one.slice(0, start)), ...middle, part("same", end === 0 ? [] : one.slice(-end))]);
}

function toWords(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

const part = (kind: WordPart["kind"], words: string[]): WordPart => ({ kind, text: words.join("") });

function diffMiddle(one: string[], other: string[]): WordPart[] {
  /** lengths[i][j]: of the longest common sequence from i and j on. */
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      const [row, next] = [lengths[i]!, lengths[i + 1]!];
      row[j] = one[i] === other[j] ? next[j + 1]! + 1 : Math.max(next[j]!, row[j + 1]!);
    }
  }
  const parts: WordPart[] = [];
  for (let i = 0, j = 0; i < one.length || j < other.length;) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      parts.push(part("same", [one[i]!]));
      i++;
      j++;
    } else if (j === other.length || (i < one.length && lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) {
      parts.push(part("removed", [one[i++]!]));
    } else parts.push(part("added", [other[j++]!]));
  }
  return parts;
}

/** Neighbors of a kind become one. */
function join(parts: WordPart[]): WordPart[] {
  const joined: WordPart[] = [];
  for (const next of parts) {
    const last = joined.at(-1);
    if (next.text === "") continue;
    if (last?.kind === next.kind) last.text += next.text;
    else joined.push({ ...next });
  }
  return joined;
}
