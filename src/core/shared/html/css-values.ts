/** In CSS pixels. */
export const SCREEN_WIDTH = 1024;

/** The beginning of a value that cannot be evaluated. */
export const OPAQUE = "var(";

/** Functions that are replaced by their value, and those that only a browser can evaluate. */
const UNREAD =
  /(?:^|[^\w-])(?:var|env|attr|if|calc|calc-size|min|max|clamp|round|mod|rem|a?sin|a?cos|a?tan2?|pow|sqrt)\(/;

/** Whether a part of the value is left that is not evaluated here. */
export function isUnread(value: string): boolean {
  return UNREAD.test(value);
}

const MAX_SUBSTITUTIONS = 50;
const MAX_VALUE_LENGTH = 1000;

/**
 * The value with its variables replaced, or with their fallbacks; undefined if one has neither, which makes the declaration
 * invalid. What is too long or refers to itself stays as it is.
 */
export function replaceVariables(value: string, variables: ReadonlyMap<string, string>): string | undefined {
  let text = value;
  for (let count = 0; text.includes("var("); count += 1) {
    // The last one has no other one in its name, perhaps in its fallback.
    const from = text.lastIndexOf("var(");
    const to = findEnd(text, from + 4);
    if (count === MAX_SUBSTITUTIONS || text.length > MAX_VALUE_LENGTH || to < 0) return OPAQUE;
    const [, name = "", fallback] = /^\s*(--[^\s,)]*)\s*(?:,(.*))?$/s.exec(text.slice(from + 4, to)) ?? [];
    const found = variables.get(name)?.trim() ?? fallback?.trim();
    if (found === undefined || found === "initial") return undefined;
    text = `${text.slice(0, from)} ${found} ${text.slice(to + 1)}`;
  }
  return text.trim();
}

/** The offset of the parenthesis that closes the one before `from`; -1 without one. */
function findEnd(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === "(") depth += 1;
    else if (text[at] === ")") depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

/** The inside of a math function that contains no other parentheses than those of sums. */
const INNER_MATH = /(?<![\w-])(calc|min|max|clamp)?\(([^()]*)\)/g;
const MATH = /(?<![\w-])(?:calc|min|max|clamp)\(/;
const MAX_NESTING = 20;

/** Replaces `calc()`, `min()`, `max()` and `clamp()` by what they give; what cannot be evaluated stays. `percent`: 1 % of what it refers to, in CSS pixels. */
export function evaluateMath(value: string, fontSize: number, percent = SCREEN_WIDTH / 100): string {
  let text = value;
  for (let depth = 0; depth < MAX_NESTING && MATH.test(text); depth += 1) {
    const next = text.replaceAll(INNER_MATH, (whole, name: string | undefined, inner: string, at: number) => {
      // The parentheses of `rgb(` and `url(` are none of ours.
      if (name === undefined && /[\w-]$/.test(text.slice(0, at))) return whole;
      const results = inner.split(",").map((sum) => toSum(sum, fontSize, percent));
      const known = results.filter((result) => result !== undefined);
      if (known.length < results.length) return whole;
      const numbers = known.map(({ number }) => number);
      const [low = 0, middle = 0, high = 0] = numbers;
      const number = {
        calc: low,
        min: Math.min(...numbers),
        max: Math.max(...numbers),
        clamp: Math.max(low, Math.min(middle, high)),
      }[name ?? "calc"];
      return `${number}${known.some(({ isLength }) => isLength) ? "px" : ""}`;
    });
    if (next === text) break;
    text = next;
  }
  return text;
}

interface Sum {
  number: number;
  isLength: boolean;
}

/** `100% - 2 * 10px`; undefined if it has anything else than numbers and lengths. */
function toSum(text: string, fontSize: number, percent: number): Sum | undefined {
  const terms = ` ${text.trim()}`.split(/(?<=[\s\w%)])\s+([+-])\s+/);
  let total: Sum | undefined;
  for (let at = 0; at < terms.length; at += 2) {
    const term = toProduct(terms[at] ?? "", fontSize, percent);
    if (!term) return undefined;
    const sign = terms[at - 1] === "-" ? -1 : 1;
    total = {
      number: (total?.number ?? 0) + sign * term.number,
      isLength: term.isLength || (total?.isLength ?? false),
    };
  }
  return total;
}

function toProduct(text: string, fontSize: number, percent: number): Sum | undefined {
  const factors = text.split(/\s*([*/])\s*/);
  let product: Sum | undefined;
  for (let at = 0; at < factors.length; at += 2) {
    const factor = toOperand((factors[at] ?? "").trim(), fontSize, percent);
    if (!factor) return undefined;
    const isDivided = factors[at - 1] === "/";
    product = {
      number: product ? (isDivided ? product.number / factor.number : product.number * factor.number) : factor.number,
      isLength: factor.isLength || (product?.isLength ?? false),
    };
  }
  return product && Number.isFinite(product.number) ? product : undefined;
}

function toOperand(text: string, fontSize: number, percent: number): Sum | undefined {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/.test(text)) return { number: Number(text), isLength: false };
  if (/^[+-]?[\d.]+%$/.test(text)) return { number: Number.parseFloat(text) * percent, isLength: true };
  const [pixels, ...others] = toPixels(text, fontSize);
  return pixels === undefined || others.length > 0 || !/^[+-]?[\d.]+[a-z]+$/.test(text)
    ? undefined
    : { number: pixels, isLength: true };
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

/** The numbers and words of a value, which need no blank between them: `50%0`. */
export function listTokens(text: string): string[] {
  return text.match(/[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?:%|[a-z]+)?|[a-z-]+/gi) ?? [];
}

/** The parts between commas that are in no parentheses. */
export function splitList(text: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const [token] of text.matchAll(/[(),]|[^(),]+/g)) {
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    if (token === "," && depth === 0) parts.push("");
    else parts.push(parts.pop() + token);
  }
  return parts.map((part) => part.trim());
}
