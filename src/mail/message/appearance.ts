import { type Color, parse, wcagContrast } from "culori";

/** Styles that decide whether the text directly in an element can be seen; its children inherit them. */
export interface Appearance {
  visibility: string;
  /** In CSS pixels. */
  fontSize: number;
  color: string;
  /** undefined: a picture, whose colors are not known. */
  background: string | undefined;
  isVisible: boolean;
}

export const PAGE: Appearance = {
  visibility: "visible",
  fontSize: 16,
  color: "black",
  background: "white",
  isVisible: true,
};

/** In CSS pixels. */
export const SCREEN_WIDTH = 1024;

/** The beginning of a value that cannot be evaluated. */
export const OPAQUE = "var(";

/** Text of this size or less, in CSS pixels, is too small to read. */
const MAX_TINY = 3;
const isTiny = (value: string): boolean => isOpaque(value) || Math.min(...toPixels(value, 16)) <= 1;
const isFar = (value: string): boolean =>
  isOpaque(value) || /-\d{3,}%/.test(value) || toPixels(value, 16).some((pixels) => pixels <= -300 || pixels >= 3000);

const isOpaque = (value: string): boolean => value.includes(OPAQUE) || value === "revert-layer";
const isNot = (shown: RegExp) => (value: string) => !shown.test(value);

/** The values that hide an element with everything in it. */
const HIDES = new Map<string, (value: string) => boolean>([
  ["display", (value) => value === "none" || isOpaque(value)],
  ["content-visibility", isNot(/^(?:visible|auto)$/)],
  ["mso-hide", isNot(/^none$/)],
  ["opacity", (value) => !(Number.parseFloat(value) >= (value.endsWith("%") ? 10 : 0.1))],
  ["filter", (value) => isOpaque(value) || /opacity\(0?\.?0/.test(value)],
  ["clip", isNot(/^auto$/)],
  ["clip-path", isNot(/^none$/)],
  ["transform", (value) => !/^(?:none|rotate\(|translate)/.test(value) || isFar(value)],
  ["scale", (value) => isOpaque(value) || Number.parseFloat(value) < 0.1],
  ["zoom", (value) => isOpaque(value) || Number.parseFloat(value) < 0.1],
  ["background-color", (value) => value === "revert-layer"],
  ["max-height", isTiny],
  ["letter-spacing", (value) => isOpaque(value) || toPixels(value, 16).some((pixels) => pixels <= -4)],
  ...["left", "right", "top", "bottom", "inset", "translate", "text-indent"].map((name) => [name, isFar] as const),
  ...["", "-left", "-top", "-right", "-bottom"].map((side) => [`margin${side}`, isFar] as const),
]);

const OTHERS = new Set(
  "visibility font-size color text-fill-color background-color background-image overflow height width max-width".split(
    " ",
  ),
);

/** Whether a property decides what can be seen. */
export function isRelevant(property: string): boolean {
  return HIDES.has(property) || OTHERS.has(property);
}

/** The appearance under the winning declarations, by property; undefined if the element is hidden with everything in it. */
export function toAppearance(style: ReadonlyMap<string, string>, parent: Appearance): Appearance | undefined {
  if (Array.from(style).some(([property, value]) => HIDES.get(property)?.(value))) return undefined;
  const overflow = style.get("overflow") ?? "";
  const isClipped = isOpaque(overflow) || /hidden|clip/.test(overflow);
  if (isClipped && ["height", "width", "max-width"].some((side) => isTiny(style.get(side) ?? "auto"))) return undefined;

  const visibility = style.get("visibility") ?? "inherit";
  const color = style.get("text-fill-color") ?? style.get("color") ?? "inherit";
  const seen = {
    visibility: visibility === "inherit" ? parent.visibility : visibility,
    fontSize: toFontSize(style.get("font-size"), parent.fontSize),
    color: parseColor(color) || isOpaque(color) ? color : parent.color,
    background: toBackground(style, parent.background),
  };
  const isVisible =
    seen.visibility === "visible" && seen.fontSize > MAX_TINY && isReadable(seen.color, seen.background);
  return { ...seen, isVisible };
}

function toFontSize(value: string | undefined, parentSize: number): number {
  if (value === undefined) return parentSize;
  if (isOpaque(value) || value.includes("calc(")) return 0;
  // In `font`, the size is the first value with a unit.
  return toPixels(value, parentSize)[0] ?? (/small|large|medium/.test(value) ? PAGE.fontSize : parentSize);
}

function toBackground(style: ReadonlyMap<string, string>, parent: string | undefined): string | undefined {
  const value = style.get("background-color") ?? "";
  if (/url\(|gradient\(/.test(value) || (style.get("background-image") ?? "none") !== "none") return undefined;
  const words = value.match(/[\w#-]+(?:\([^()]*\))?/g) ?? [];
  return words.find((word) => (parseColor(word)?.alpha ?? 1) > 0.5 && parseColor(word)) ?? parent;
}

const MAX_COLOR_LENGTH = 64;

/** The library's expressions take quadratic time. */
function parseColor(text: string): Color | undefined {
  return text.length <= MAX_COLOR_LENGTH ? parse(text) : undefined;
}

/** Below this contrast (WCAG) a text has almost the color of its background. */
const MIN_CONTRAST = 1.15;

function isReadable(color: string, background: string | undefined): boolean {
  const parsed = parseColor(color);
  if (!parsed || (parsed.alpha ?? 1) < 0.1) return false;
  return background === undefined || wcagContrast(parsed, background) >= MIN_CONTRAST;
}

const PIXELS: Record<string, number> = { px: 1, pt: 4 / 3, pc: 16, in: 96, cm: 37.8, mm: 3.78, q: 0.945, rem: 16 };
const LENGTH =
  /(?<![\w#.-])([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(px|pt|pc|in|cm|mm|q|rem|em|ex|ch|%|v\w+)?(?![\w.])/g;

/** All lengths of a value, relative ones by the font size; numbers without a unit only if they are 0. */
export function toPixels(value: string, fontSize: number): number[] {
  return Array.from(value.matchAll(LENGTH)).flatMap(([, digits, unit = ""]) => {
    const number = Number(digits);
    if (unit === "") return number === 0 ? [0] : [];
    if (unit === "%") return [(number / 100) * fontSize];
    if (unit.startsWith("v")) return [(number / 100) * SCREEN_WIDTH];
    return [number * (PIXELS[unit] ?? (unit === "em" ? fontSize : fontSize / 2))];
  });
}
