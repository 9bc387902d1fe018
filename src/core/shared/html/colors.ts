import type * as Culori from "culori";
import type { Color } from "culori";
import { loadAtFirstUse } from "../system/package.ts";
import { splitList } from "./css-values.ts";

const culori = loadAtFirstUse<typeof Culori>("culori");

const MAX_COLOR_LENGTH = 200;
/** The library's expressions take quadratic time. */
const MAX_PLAIN_COLOR_LENGTH = 64;

/** A color as a page with a light background shows it; undefined if it is none, or cannot be evaluated. */
export function parseColor(text: string): Color | undefined {
  if (text.length > MAX_COLOR_LENGTH) return undefined;
  const [, name, inner = ""] = /^(light-dark|color-mix)\((.*)\)$/s.exec(text.trim()) ?? [];
  if (name === undefined) return text.length <= MAX_PLAIN_COLOR_LENGTH ? culori().parse(text) : undefined;
  const [first = "", second = "", third = ""] = splitList(inner);
  if (name === "light-dark") return parseColor(first);
  const one = toPart(second);
  const other = toPart(third);
  if (!one || !other || !/^in\s/.test(first)) return undefined;
  const share = one.share ?? (other.share === undefined ? 0.5 : 1 - other.share);
  const rest = other.share ?? 1 - share;
  const total = share + rest;
  if (!(total > 0)) return undefined;
  const mixed = culori().interpolate([one.color, other.color], "rgb")(rest / total);
  // Shares below 100 % make it more transparent.
  return { ...mixed, alpha: (mixed.alpha ?? 1) * Math.min(1, total) };
}

/** `red 20%` */
function toPart(text: string): { color: Color; share?: number } | undefined {
  const [, percent] = /(?:^|\s)([\d.]+)%(?=\s|$)/.exec(text) ?? [];
  const color = parseColor(text.replace(/(?:^|\s)[\d.]+%(?=\s|$)/, " ").trim());
  return color && { color, share: percent === undefined ? undefined : Number(percent) / 100 };
}

/** Below this contrast (WCAG) a text has almost the color of its background. */
const MIN_CONTRAST = 1.15;

/** `background`: undefined for a picture, whose colors are not known. */
export function isReadable(color: string, background: string | undefined): boolean {
  const parsed = parseColor(color);
  if (!parsed || (parsed.alpha ?? 1) < 0.1) return false;
  const behind = background === undefined ? undefined : parseColor(background);
  return behind === undefined || culori().wcagContrast(parsed, behind) >= MIN_CONTRAST;
}
