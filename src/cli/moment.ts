import { parseDuration } from "../config/duration.ts";
import { ConfigError } from "../errors.ts";

/**
 * A moment as a person names it, in ISO 8601: `1h` is an hour before `now` (milliseconds since the epoch), anything else a
 * date. Throws a `ConfigError` where it is neither.
 */
export function toMoment(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const at = new Date(/^\d+(ms|s|m|h|d)$/.test(text) ? now - parseDuration(text) : text);
  if (!Number.isNaN(at.getTime())) return at.toISOString();
  const message = `"${text}" is no moment: expected how long ago it was, as in 90m or 7d, or a date, as in 2026-11-20T10:00:00Z.`;
  throw new ConfigError([{ message }]);
}
