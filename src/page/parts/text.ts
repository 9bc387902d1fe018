/* How values are written. */

const INVISIBLE = /[\p{Cc}\p{Cf}\u2028\u2029\u3164\uffa0]/gu;

/** Characters that could reorder or hide the text around them. */
export function toVisible(text: string): string {
  return text.replace(INVISIBLE, (char) =>
    /[\t\n\r]/.test(char) ? char : `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );
}

/** On one line. */
export function toLine(text: string | undefined, max = 160): string {
  const line = (text ?? "")
    .slice(0, 4 * max)
    .replaceAll(/\s+/g, " ")
    .trim();
  return toVisible(line.length > max ? `${line.slice(0, max - 1)}…` : line);
}

export function formatMs(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

const NUMBER = new Intl.NumberFormat("en");
export const formatNumber = (value: number | undefined): string => (value === undefined ? "" : NUMBER.format(value));

/** In the currency of `agents.prices`. */
export const formatCost = (cost: number | undefined): string => (cost ? cost.toFixed(cost < 1 ? 4 : 2) : "");

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function parseJson(text: string): { value?: unknown; error?: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { error: `This is not JSON: ${messageOf(error)}` };
  }
}
