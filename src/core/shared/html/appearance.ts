import { isReadable, parseColor } from "./colors.ts";
import { evaluateMath, isUnread, listTokens, replaceVariables, toPixels } from "./css-values.ts";
import { hidesIf, isFarAway, judgeClip, judgeClipPath, judgeMask, judgeTransform, type Verdict } from "./shapes.ts";

/** Decides whether the text directly in an element can be seen; its children inherit it. */
export interface Appearance {
  visibility: string;
  /** In CSS pixels. */
  fontSize: number;
  color: string;
  /** undefined: a picture, whose colors are not known. */
  background: string | undefined;
  isVisible: boolean;
  /** The custom properties, by their names. */
  variables: ReadonlyMap<string, string>;
  /** Its grid has only rows or columns of no size: what hides its overflow in there is not seen. */
  hasEmptyTracks: boolean;
  /** A style of it, or of an element around it, could not be evaluated. */
  isUncertain: boolean;
}

export const PAGE: Appearance = {
  visibility: "visible",
  fontSize: 16,
  color: "black",
  background: "white",
  isVisible: true,
  variables: new Map(),
  hasEmptyTracks: false,
  isUncertain: false,
};

/** Text of this size or less, in CSS pixels, is too small to read. */
const MAX_TINY = 3;
const isTiny = (value: string): boolean => Math.min(...toPixels(value, 16)) <= 1;
const isFar = (value: string): boolean => /-\d{3,}%/.test(value) || toPixels(value, 16).some(isFarAway);
const isNot = (shown: RegExp) => (value: string) => !shown.test(value);
const isSmall = (value: string): boolean =>
  listTokens(value).some((factor) => !(Number.parseFloat(factor) >= (factor.endsWith("%") ? 10 : 0.1)));

/** The value of a layer counts, which is not known here. */
const isGoingBack = (value: string): boolean => value === "revert-layer";

/** The values that hide an element with everything in it. */
const HIDES = new Map<string, (value: string) => boolean | Verdict>([
  ["display", (value) => value === "none"],
  ["content-visibility", isNot(/^(?:visible|auto)$/)],
  ["mso-hide", isNot(/^none$/)],
  ["opacity", isSmall],
  ["filter", (value) => /opacity\(0?\.?0/.test(value)],
  ["clip", judgeClip],
  ["clip-path", judgeClipPath],
  ["mask-image", judgeMask],
  ["transform", judgeTransform],
  ["scale", (value) => value !== "none" && isSmall(value)],
  ["zoom", (value) => Number.parseFloat(value) < 0.1],
  ["font-size-adjust", (value) => Number.parseFloat(value.replace(/^[a-z-]+ /, "")) < 0.1],
  ["background-color", () => false],
  ["max-height", isTiny],
  ["letter-spacing", (value) => toPixels(value, 16).some((pixels) => pixels <= -4)],
  ...["left", "right", "top", "bottom", "inset", "translate", "text-indent"].map((name) => [name, isFar] as const),
  ...["", "-left", "-top", "-right", "-bottom"].map((side) => [`margin${side}`, isFar] as const),
]);

const OTHERS = new Set(
  (
    "visibility font-size color text-fill-color background-color background-image overflow height width max-width " +
    "contain grid-template-rows grid-template-columns"
  ).split(" "),
);

/** Whether a property decides what can be seen. */
export function isRelevant(property: string): boolean {
  return HIDES.has(property) || OTHERS.has(property) || property.startsWith("--");
}

/** A declaration that has won. `isValid`: whether a browser takes a value for it. */
export interface Declared {
  value: string;
  isValid(value: string): boolean;
  /** The declaration counts only if it hides. */
  onlyHides: boolean;
}

/** The appearance under the winning declarations, by property; undefined if the element is hidden with everything in it. */
export function toAppearance(declared: ReadonlyMap<string, Declared>, parent: Appearance): Appearance | undefined {
  const variables = toVariables(declared, parent.variables);
  const style = evaluate(declared, variables, parent.fontSize);
  const verdicts = Array.from(style, ([property, value]) => judge(property, value));
  if (verdicts.includes("hides")) return undefined;
  const overflow = style.get("overflow") ?? "";
  const isClipped =
    isGoingBack(overflow) || /hidden|clip/.test(overflow) || /paint|strict|content/.test(style.get("contain") ?? "");
  if (isClipped && (parent.hasEmptyTracks || isEmptyBox(style))) return undefined;

  const visibility = style.get("visibility") ?? "inherit";
  const color = style.get("text-fill-color") ?? style.get("color") ?? "inherit";
  const seen = {
    visibility: /^(?:visible|hidden|collapse)$/.test(visibility) ? visibility : parent.visibility,
    fontSize: toFontSize(style.get("font-size"), parent.fontSize),
    color: parseColor(color) ? color : parent.color,
    background: toBackground(style, parent.background),
    variables,
    hasEmptyTracks: ["rows", "columns"].some((tracks) => isEmptyGrid(style.get(`grid-template-${tracks}`))),
    isUncertain: parent.isUncertain || verdicts.includes("unknown"),
  };
  const isVisible =
    seen.visibility === "visible" && seen.fontSize > MAX_TINY && isReadable(seen.color, seen.background);
  return { ...seen, isVisible };
}

function judge(property: string, value: string): Verdict {
  if (property.startsWith("--")) return "shows";
  if (isUnread(value)) return "unknown";
  if (isGoingBack(value) && HIDES.has(property)) return "hides";
  const found = HIDES.get(property)?.(value) ?? false;
  if (typeof found === "string") return found;
  const isColor = property === "color" || property === "text-fill-color";
  return isColor && value.includes("(") && !parseColor(value) ? "unknown" : hidesIf(found);
}

const MAX_VARIABLES = 500;

function toVariables(
  declared: ReadonlyMap<string, Declared>,
  inherited: Appearance["variables"],
): Appearance["variables"] {
  const own = Array.from(declared).filter(([property]) => property.startsWith("--"));
  if (own.length === 0) return inherited;
  const variables = new Map(inherited);
  for (const [property, { value }] of own) {
    if (variables.size < MAX_VARIABLES && value !== "inherit") variables.set(property, value);
  }
  return variables;
}

/** Replaces variables and sums. A value that is invalid then counts as if nobody had written it. */
function evaluate(
  declared: ReadonlyMap<string, Declared>,
  variables: Appearance["variables"],
  fontSize: number,
): Map<string, string> {
  const style = new Map<string, string>();
  for (const [property, { value: written, isValid, onlyHides }] of declared) {
    const replaced = replaceVariables(written, variables);
    const isReplaced = replaced !== written && replaced !== undefined && !isUnread(replaced);
    if (replaced === undefined || (isReplaced && !isValid(replaced))) continue;
    const base = property === "font-size" ? fontSize / 100 : undefined;
    const value = evaluateMath(replaced, fontSize, base);
    if (!onlyHides || judge(property, value) === "hides") style.set(property, value);
  }
  return style;
}

/** Whether a box that hides its overflow has no size. */
function isEmptyBox(style: ReadonlyMap<string, string>): boolean {
  if (["height", "width", "max-width"].some((side) => isTiny(style.get(side) ?? "auto"))) return true;
  if (/^0(?:px)?(?: 0(?:px)?)*$/.test(style.get("grid-template-rows") ?? "")) return true;
  // Its size is that of an empty box, unless it says another one.
  return /\b(?:size|strict)\b/.test(style.get("contain") ?? "") && !/[1-9]/.test(style.get("height") ?? "auto");
}

function isEmptyGrid(tracks = "none"): boolean {
  return /^(?:minmax\(0(?:px)?,)?0(?:px|fr)?\)?(?: 0(?:px|fr)?)*$/.test(tracks);
}

function toFontSize(value: string | undefined, parentSize: number): number {
  if (value === undefined || isUnread(value)) return parentSize;
  // In `font`, the size is the first value with a unit.
  return toPixels(value, parentSize)[0] ?? (/small|large|medium/.test(value) ? PAGE.fontSize : parentSize);
}

function toBackground(style: ReadonlyMap<string, string>, parent: string | undefined): string | undefined {
  const value = style.get("background-color") ?? "";
  if (/url\(|gradient\(/.test(value) || (style.get("background-image") ?? "none") !== "none") return undefined;
  if (parseColor(value)) return (parseColor(value)?.alpha ?? 1) > 0.5 ? value : parent;
  const words = value.match(/[\w#-]+(?:\([^()]*\))?/g) ?? [];
  return words.find((word) => (parseColor(word)?.alpha ?? 1) > 0.5 && parseColor(word)) ?? parent;
}
