import { parseExact } from "../../../core/shared/exact-json.ts";
import { HOUR_MS } from "../../../core/shared/time.ts";

/* How values are written. */

const INVISIBLE = /[\p{Cc}\p{Cf}\u2028\u2029\u3164\uffa0]/gu;

/** Characters that could reorder or hide the text around them. */
export function escapeHidden(text: string): string {
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
  return escapeHidden(line.length > max ? `${line.slice(0, max - 1)}…` : line);
}

export function formatMs(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / HOUR_MS)} h ${Math.round((ms % HOUR_MS) / 60_000)} min`;
}

const NUMBER = new Intl.NumberFormat("en");
export const formatNumber = (value: number | undefined): string => (value === undefined ? "" : NUMBER.format(value));

/** In the currency of `agents.prices`. */
export const formatCost = (cost: number | undefined, digits?: number): string =>
  cost ? cost.toFixed(digits ?? (cost < 1 ? 4 : 2)) : "";

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function parseJson(text: string): { value?: unknown; error?: string } {
  try {
    return { value: parseExact(text) };
  } catch (error) {
    return { error: `This is not JSON: ${messageOf(error)}` };
  }
}

const ZONE = new Intl.DateTimeFormat("en", { timeZoneName: "short" });

/** The zone of this browser. */
export function toZone(at: number | string = Date.now()): string {
  return ZONE.formatToParts(new Date(at)).find(({ type }) => type === "timeZoneName")?.value ?? "";
}

/** With the day, the zone of this browser, and how long ago it was. */
export function toWholeTime(at: number | string): string {
  const date = new Date(at);
  const ago = Date.now() - date.getTime();
  const relative = ago < 0 ? `in ${formatMs(-ago)}` : `${formatMs(ago)} ago`;
  return `${date.toLocaleDateString("en-CA")} ${date.toTimeString().slice(0, 8)} ${toZone(at)}, ${relative}`;
}

const TONES: Record<string, string[]> = {
  good: ["done", "sent", "ok", "watching", "active"],
  live: ["running", "waiting", "connecting", "catching-up"],
  warn: ["held", "refused", "paused", "shadowed", "open", "network", "locked"],
  bad: ["failed", "store-failed", "stuck", "mailbox-gone", "tls-failed", "login-refused"],
};

export function toneOf(state: string): string {
  return Object.keys(TONES).find((tone) => TONES[tone]?.includes(state)) ?? "quiet";
}

/** The outcome of a request, without the status that stands beside it. */
export function outcomeBeside(status: string, outcome: string): string {
  return outcome.startsWith(`${status}: `) ? outcome.slice(status.length + 2) : outcome;
}
