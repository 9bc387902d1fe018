/** The last `count` lines of a text that are not blank. */
export function lastLines(text: string, count: number): string[] {
  const lines = text.split("\n").map((line) => line.trimEnd());
  return lines.filter((line) => line !== "").slice(-count);
}
