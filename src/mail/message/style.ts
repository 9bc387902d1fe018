import {
  type Atrule,
  type CssNode,
  type Declaration,
  generate,
  ident,
  lexer,
  type List,
  parse,
  type Rule,
} from "css-tree";
import type { DefaultTreeAdapterTypes as Tree } from "parse5";
import { type Appearance, isRelevant, OPAQUE, PAGE, toAppearance } from "./appearance.ts";
import { type Reach, reachOfMedia } from "./media.ts";
import {
  createSelectors,
  hasUnknownPart,
  type Matches,
  matchAll,
  matchNothing,
  type Selectors,
  specificityOf,
} from "./selectors.ts";

type Element = Tree.Element;

/** The appearance of an element; undefined if it is hidden with everything in it. */
export type ReadAppearance = (element: Element, parent: Appearance) => Appearance | undefined;

export interface StyleSheet {
  css: string;
  /** Media queries; empty for all media. */
  media: string;
}

/** The parser's work for an error grows with the text that contains it. In characters. */
const ERROR_WORK = 20_000;
const MAX_ERROR_WORK = 30_000_000;

/**
 * Reads the styles of a document as a browser with a wide screen would. Styles that cannot be evaluated, because they are too
 * large or not known here, count as hiding.
 */
export function createStyles(styleSheets: StyleSheet[], quirksMode: boolean): ReadAppearance {
  const parseCss = createParser();
  const selectors = createSelectors(quirksMode);
  const rules = toRules(styleSheets, { parseCss, selectors, quirksMode });

  return function readAppearance(element, parent) {
    const declared: Styled[] = [];
    for (const { matches, styles } of rules) {
      if (matches(element)) declared.push(...styles);
      if (selectors.areExhausted()) return undefined;
    }
    declared.push(...readOwnStyles(element, parseCss, quirksMode));
    return declared.length === 0 ? parent : toAppearance(toStyle(declared), parent);
  };
}

interface Styled {
  property: string;
  value: string;
  /** The value with the greatest weight counts. */
  weight: number;
}

interface StyleRule {
  matches: Matches;
  styles: Styled[];
}

/** The cascade. A specificity has 12 bits, an order 20. An important value in a layer is above `author`, not below it. */
const ORIGIN = { attribute: 0, layer: 2 ** 32, author: 2 ** 33, importantLayer: 3 * 2 ** 32, inline: 2 ** 34 };
const IMPORTANT = 2 ** 35;

interface RuleOptions {
  parseCss: ParseCss;
  selectors: Selectors;
  quirksMode: boolean;
}

function toRules(sheets: StyleSheet[], { parseCss, selectors, quirksMode }: RuleOptions): StyleRule[] {
  const rules: StyleRule[] = [];
  for (const { css, media } of sheets) {
    const sheet = parseCss(css, "stylesheet");
    if (sheet?.type !== "StyleSheet") return [{ matches: matchAll, styles: [HIDDEN] }];
    collect(sheet.children, reachOfMedia(media), ORIGIN.author);
  }
  return rules;

  function collect(nodes: List<CssNode>, reach: Reach, origin: number): void {
    if (reach === "nothing") return;
    for (const node of nodes) {
      if (node.type === "Rule") add(node, reach, origin);
      if (node.type !== "Atrule" || !node.block) continue;
      const inner = reachOf(node);
      collect(node.block.children, inner === "everything" ? reach : inner, originOf(node, origin));
    }
  }

  function add({ prelude, block }: Rule, reach: Reach, origin: number): void {
    const written = toStyles(block.children, { origin, quirksMode, parseCss });
    if (written.length === 0 || prelude.type !== "SelectorList") return;
    const hides = isHiding(written);
    const compiled = Array.from(prelude.children)
      .filter((node) => node.type === "Selector")
      .map((selector) => ({ selector, matches: selectors.compile(selector, hides) }));
    // A browser drops a rule for one selector that it does not know.
    const isKnown = compiled.every(({ selector, matches }) => matches !== undefined && !hasUnknownPart(selector));
    const declared = reach === "everything" && isKnown ? written : onlyHiding(written);
    if (declared.length === 0) return;
    // A rule may repeat a property thousands of times.
    const last = new Map(declared.map((styled) => [styled.property + styled.weight, styled]));
    for (const { selector, matches = matchAll } of compiled) {
      if (matches === matchNothing) continue;
      const weight = rules.length + specificityOf(selector) * 2 ** 20;
      const styles = Array.from(last.values(), (styled) => ({ ...styled, weight: styled.weight + weight }));
      rules.push({ matches, styles });
    }
  }
}

const HIDDEN: Styled = { property: "display", value: "none", weight: IMPORTANT * 4 };

type ParseCss = (css: string, context: "stylesheet" | "declarationList") => CssNode | undefined;

/** Gives undefined for too many errors in one document, and for too deep nesting. */
function createParser(): ParseCss {
  let work = 0;
  return function parseCss(css, context) {
    const onParseError = (error: Error): void => {
      work += ERROR_WORK + css.length;
      if (work > MAX_ERROR_WORK) throw error;
    };
    try {
      return parse(css, { context, onParseError });
    } catch {
      return undefined;
    }
  };
}

interface StyleContext {
  origin: number;
  quirksMode: boolean;
  isNested?: boolean;
  /** Parses what the library leaves as it is, the declarations of a layer in a rule. */
  parseCss?: ParseCss;
}

/** Nested rules are not matched: what hides there counts as if the rule around them said it. */
function toStyles(nodes: Iterable<CssNode>, context: StyleContext): Styled[] {
  return Array.from(nodes).flatMap((node) => {
    if (node.type === "Declaration") {
      return toStyled(node, context).filter((styled) => !context.isNested || isHiding([styled]));
    }
    if (node.type === "Raw" && context.isNested && context.parseCss) {
      const list = context.parseCss(node.value, "declarationList");
      const once = { ...context, parseCss: undefined };
      return list?.type === "DeclarationList" ? toStyles(list.children, once) : [HIDDEN];
    }
    const isRule = node.type === "Rule" || (node.type === "Atrule" && reachOf(node) !== "nothing");
    if (!isRule || !node.block) return [];
    const origin = originOf(node, context.origin);
    return toStyles(node.block.children, { ...context, origin, isNested: true });
  });
}

/** Whether a text on an empty page would be hidden. */
function isHiding(styles: Styled[]): boolean {
  return toAppearance(toStyle(styles), PAGE)?.isVisible !== true;
}

/** The styles of a rule that hide, alone or together. */
function onlyHiding(styles: Styled[]): Styled[] {
  if (!isHiding(styles)) return [];
  const hiding = styles.filter((styled) => isHiding([styled]));
  return hiding.length > 0 ? hiding : styles;
}

/** The winning values, by property. */
function toStyle(declared: Styled[]): ReadonlyMap<string, string> {
  const sorted = declared.toSorted((first, second) => first.weight - second.weight);
  return new Map(sorted.map(({ property, value }) => [property, value]));
}

const ALIASES = new Map([
  ["background", "background-color"],
  ["font", "font-size"],
  ["-webkit-text-fill-color", "text-fill-color"],
  ["overflow-x", "overflow"],
  ["overflow-y", "overflow"],
]);

const MAX_VALUE_LENGTH = 1000;

function toStyled({ property: written, value, important }: Declaration, context: StyleContext): Styled[] {
  const name = ident.decode(written).toLowerCase();
  const property = ALIASES.get(name) ?? name;
  if (!isRelevant(property)) return [];
  const text = generate(value);
  const decoded = text.length > MAX_VALUE_LENGTH ? OPAQUE : ident.decode(text).toLowerCase();
  const meant = context.quirksMode ? withQuirks(name, decoded) : decoded;
  const { origin } = context;
  const weight = important ? IMPORTANT + (origin === ORIGIN.layer ? ORIGIN.importantLayer : origin) : origin;
  const styled = { property, value: meant, weight };
  // A color hides only together with the other one.
  const counts = isValid(name, meant) || (!isColor(property) && isHiding([styled]));
  return counts ? [styled] : [];
}

const isColor = (property: string): boolean => /color$|^background/.test(property);

/** Numbers that may stand for a length, and colors that may lack their mark, in documents without a doctype. */
const LENGTHS = /^(?:font-size|letter-spacing|text-indent|left|right|top|bottom|(?:max-)?(?:height|width)|margin.*)$/;

function withQuirks(name: string, value: string): string {
  if (LENGTHS.test(name)) return value.replace(/^[+-]?[\d.]+$/, "$&px");
  return /^(?:background-)?color$/.test(name) ? value.replace(/^(?=(?:[\da-f]{3}){1,2}$)/, "#") : value;
}

/** The library warns on the console about values with more parts, which it does not compare to the end. */
const MAX_PARTS = 60;

/** Whether a browser takes the value for the property; otherwise an earlier value counts. */
function isValid(name: string, value: string): boolean {
  if (value.includes(OPAQUE)) return true;
  const parts = value.replaceAll(/url\([^)]*\)/g, " url ").match(/[^\s,()/]+/g) ?? [];
  if (parts.length > MAX_PARTS) return false;
  if (lexer.matchProperty(name, value).matched) return true;
  // Office writes the names of old systems.
  return isColor(name) && lexer.match("<deprecated-system-color>", value).matched !== null;
}

function reachOf({ name, prelude }: Atrule): Reach {
  if (/keyframes$/i.test(name)) return "nothing";
  if (name.toLowerCase() !== "media") return "what hides";
  return reachOfMedia(prelude ? generate(prelude) : "");
}

/** The origin of what is in a rule. The order of layers does not matter, since only what hides counts of them. */
function originOf(node: Atrule | Rule, around: number): number {
  return node.type === "Atrule" && node.name.toLowerCase() === "layer" ? ORIGIN.layer : around;
}

const STYLE_ATTRIBUTES = new Map([
  ["background", "background-image"],
  ["bgcolor", "background-color"],
  ["color", "color"],
  ["text", "color"],
]);

function readOwnStyles(element: Element, parseCss: ParseCss, quirksMode: boolean): Styled[] {
  return element.attrs.flatMap(({ name, value }) => {
    const property = STYLE_ATTRIBUTES.get(name);
    const text = value.toLowerCase().replace(/^(?=[\da-f]{3,6}$)/, "#");
    if (property) return [{ property, value: text, weight: ORIGIN.attribute }];
    if (name !== "style") return [];
    const list = parseCss(value, "declarationList");
    return list?.type === "DeclarationList" ? toStyles(list.children, { origin: ORIGIN.inline, quirksMode }) : [HIDDEN];
  });
}
