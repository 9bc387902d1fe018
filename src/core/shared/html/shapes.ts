import { parseColor } from "./colors.ts";
import { listTokens, SCREEN_WIDTH, splitList, toPixels } from "./css-values.ts";

/** hides: nothing of it can be seen · unknown: only a browser can tell. */
export type Verdict = "shows" | "hides" | "unknown";

/** Below this factor nothing can be read. */
const MIN_SCALE = 0.1;

/** Whether text lies this far from where it would be, in CSS pixels. */
export function isFarAway(pixels: number): boolean {
  return pixels <= -300 || pixels >= 3000;
}

/** `translate(10px) rotate(2deg)` */
export function judgeTransform(value: string): Verdict {
  return worst(listFunctions(value).map(({ name, parts }) => judgeFunction(name, parts)));
}

function judgeFunction(name: string, parts: string[]): Verdict {
  const numbers = parts.map((part) => (part.endsWith("%") ? Number.parseFloat(part) / 100 : Number(part)));
  const [a = 1, b = 0, c = 0, d = 1] = numbers;
  if (name.startsWith("translate")) return hidesIf(parts.flatMap((part) => toPixels(part, 16)).some(isFarAway));
  if (name === "scalez" || name === "perspective") return "shows";
  if (name.startsWith("scale")) {
    const factors = name === "scale3d" ? numbers.slice(0, 2) : numbers;
    return factors.some(Number.isNaN) ? "unknown" : hidesIf(factors.some((factor) => Math.abs(factor) < MIN_SCALE));
  }
  if (name === "matrix") return judgeMatrix([a, b, c, d], numbers.slice(4, 6));
  if (name === "matrix3d")
    return judgeMatrix(
      [0, 1, 4, 5].map((at) => numbers[at] ?? 0),
      numbers.slice(12, 14),
    );
  if (name === "rotate" || name === "rotatez") return "shows";
  // Seen from its edge it is a line.
  if (/^(?:rotate[xy]|skew[xy]?)$/.test(name)) return hidesIf(parts.map(toDegrees).some((angle) => isEdge(angle)));
  return "unknown";
}

function judgeMatrix([a = 1, b = 0, c = 0, d = 1]: number[], moved: number[]): Verdict {
  if ([a, b, c, d, ...moved].some(Number.isNaN)) return "unknown";
  return hidesIf(Math.abs(a * d - b * c) < MIN_SCALE ** 2 || moved.some(isFarAway));
}

function toDegrees(angle: string): number {
  const factor = { rad: 180 / Math.PI, grad: 0.9, turn: 360 }[/[a-z]+$/.exec(angle)?.[0] ?? ""] ?? 1;
  return Number.parseFloat(angle) * factor;
}

function isEdge(degrees: number): boolean {
  return Math.abs(Math.cos((degrees * Math.PI) / 180)) < MIN_SCALE;
}

/** `inset(0 round 8px)`, `circle(50%)`, `polygon(0 0, 100% 0, 0 100%)` */
export function judgeClipPath(value: string): Verdict {
  if (/^(?:none|(?:[a-z]+-box ?)+)$/.test(value)) return "shows";
  const [shape] = listFunctions(value);
  const { name = "", inner = "" } = shape ?? {};
  // In hundredths of the box, as long as nobody knows its size: pixels count as of a small one.
  const toShare = (text: string): number =>
    text.endsWith("%") ? Number.parseFloat(text) : ((toPixels(text, 16)[0] ?? Number.NaN) / SMALL_BOX) * 100;
  if (name === "inset") {
    const [top = "0", right = top, bottom = top, left = right] = listTokens(inner.split(/\bround\b/)[0] ?? "");
    const [high, wide] = [toShare(top) + toShare(bottom), toShare(left) + toShare(right)];
    return Number.isNaN(high + wide) ? "unknown" : hidesIf(high > 95 || wide > 95);
  }
  if (name === "circle" || name === "ellipse") {
    const radii = listTokens(inner.split(/\bat\b/)[0] ?? "");
    const shares = radii.filter((radius) => !/^(?:closest|farthest)-/.test(radius)).map(toShare);
    return shares.some(Number.isNaN) ? "unknown" : hidesIf(shares.some((share) => share < 2));
  }
  if (name === "polygon") {
    const points = splitList(inner.replace(/^\s*(?:nonzero|evenodd)\s*,/, "")).map((point) =>
      listTokens(point).map(toShare),
    );
    return points.some(([x = Number.NaN, y = Number.NaN]) => Number.isNaN(x + y))
      ? "unknown"
      : hidesIf(areaOf(points) < 20);
  }
  return "unknown";
}

/** In CSS pixels. */
const SMALL_BOX = 300;

function areaOf(points: number[][]): number {
  const twice = points.reduce((sum, [x = 0, y = 0], index) => {
    const [nextX = 0, nextY = 0] = points[(index + 1) % points.length] ?? [];
    return sum + x * nextY - nextX * y;
  }, 0);
  return Math.abs(twice) / 2;
}

/** `rect(0 0 0 0)`, with or without commas. */
export function judgeClip(value: string): Verdict {
  if (value === "auto") return "shows";
  const [shape] = listFunctions(value);
  if (shape?.name !== "rect") return "unknown";
  const edges = listTokens(shape.inner);
  const [top = 0, right = SCREEN_WIDTH, bottom = SCREEN_WIDTH, left = 0] = edges.map((edge) => toPixels(edge, 16)[0]);
  return hidesIf(right - left <= 3 || bottom - top <= 3);
}

/** A picture as a mask shows what is seen of it; nobody knows that of a picture that is fetched. */
export function judgeMask(value: string): Verdict {
  if (/^(?:none|initial|unset)$/.test(value)) return "shows";
  const gradients = listFunctions(value).filter(({ name }) => name.endsWith("gradient"));
  const stops = gradients
    .flatMap(({ inner }) => splitList(inner))
    .map((stop) => stop.replace(/(?:\s+-?[\d.]+[a-z%]*)+$/, ""));
  return hidesIf(!stops.some((stop) => (parseColor(stop)?.alpha ?? (parseColor(stop) ? 1 : 0)) >= 0.1));
}

interface CssFunction {
  name: string;
  inner: string;
  parts: string[];
}

/** The functions of a value that are in no other one. */
function listFunctions(value: string): CssFunction[] {
  const found: CssFunction[] = [];
  for (let at = value.indexOf("("); at >= 0; at = value.indexOf("(", at + 1)) {
    const name = /[\w-]*$/.exec(value.slice(0, at))?.[0] ?? "";
    let end = at + 1;
    for (let depth = 1; end < value.length && depth > 0; end += 1)
      depth += value[end] === "(" ? 1 : value[end] === ")" ? -1 : 0;
    const inner = value.slice(at + 1, end - 1);
    found.push({ name: name.toLowerCase(), inner, parts: splitList(inner) });
    at = end - 1;
  }
  return found;
}

export function hidesIf(isHidden: boolean): Verdict {
  return isHidden ? "hides" : "shows";
}

function worst(verdicts: Verdict[]): Verdict {
  return (["hides", "unknown"] as const).find((verdict) => verdicts.includes(verdict)) ?? "shows";
}
