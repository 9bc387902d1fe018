import type { Atrule, CssNode, Declaration, List, Rule } from "css-tree";
import type { DefaultTreeAdapterTypes as Tree } from "parse5";
import { type Appearance, type Declared, isRelevant, PAGE, toAppearance } from "./appearance.ts";
import { cssTree } from "./css-tree.ts";
import { evaluateMath, isUnread, OPAQUE } from "./css-values.ts";
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
 * Reads the styles of a document as a browser with a wide screen would. A style that cannot be evaluated hides nothing, and the
 * appearance says so. If the document causes too much work, it counts as hidden.
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

interface Styled extends Declared {
  property: string;
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
  const isRead = sheets.every(({ css, media }) => read(css, reachOfMedia(media), 0));
  return isRead ? rules : [{ matches: matchAll, styles: [HIDDEN] }];

  function read(css: string, reach: Reach, depth: number): boolean {
    const sheet = parseCss(css, "stylesheet");
    if (sheet?.type !== "StyleSheet") return false;
    const imports = Array.from(sheet.children, toImport).filter((found) => found !== undefined);
    const isImported = imports.every(
      (found) => depth === MAX_IMPORTS || read(found.css, narrow(reach, found.reach), depth + 1),
    );
    collect(sheet.children, reach, ORIGIN.author);
    return isImported;
  }

  function collect(nodes: List<CssNode>, reach: Reach, origin: number): void {
    if (reach === "nothing") return;
    for (const node of nodes) {
      if (node.type === "Rule") add(node, reach, origin);
      if (node.type !== "Atrule" || !node.block) continue;
      collect(node.block.children, narrow(reach, reachOf(node)), originOf(node, origin));
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

/** How far the rules in a rule count. */
function narrow(around: Reach, inner: Reach): Reach {
  return around === "nothing" || inner === "everything" ? around : inner;
}

/** How deep style sheets are imported. */
const MAX_IMPORTS = 3;

/** The style sheet that a rule imports, if the mail contains it. */
function toImport(node: CssNode): { css: string; reach: Reach } | undefined {
  if (node.type !== "Atrule" || node.name.toLowerCase() !== "import" || node.prelude?.type !== "AtrulePrelude")
    return undefined;
  const [source, ...conditions] = node.prelude.children;
  const url = source?.type === "Url" || source?.type === "String" ? source.value : "";
  const css = readDataUrl(url);
  return css === undefined
    ? undefined
    : { css, reach: reachOfMedia(conditions.map((part) => cssTree().generate(part)).join(" ")) };
}

/** The text in the address of a style sheet, such as `data:text/css;base64,cHt9`; undefined for one that is elsewhere. */
export function readDataUrl(url: string): string | undefined {
  const [, options = "", content = ""] = /^\s*data:text\/css((?:;[^,;]*)*),(.*)$/is.exec(url) ?? [undefined, undefined];
  if (content === "") return undefined;
  const decoded = content.replaceAll(/%([\da-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return /;\s*base64\s*$/i.test(options) ? Buffer.from(decoded, "base64").toString() : decoded;
}

const HIDDEN: Styled = { ...toDeclared("display", "none"), property: "display", weight: IMPORTANT * 4 };

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
      return cssTree().parse(css, { context, onParseError });
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

/** The styles of a rule that hide, alone or together, or may, if variables say so. */
function onlyHiding(styles: Styled[]): Styled[] {
  const open = styles.filter(({ value }) => value.includes("var(")).map((styled) => ({ ...styled, onlyHides: true }));
  if (!isHiding(styles)) return open;
  const hiding = styles.filter((styled) => isHiding([styled]));
  return [...open, ...(hiding.length > 0 ? hiding : styles)];
}

/** The winning declarations, by property. */
function toStyle(declared: Styled[]): ReadonlyMap<string, Declared> {
  const sorted = declared.toSorted((first, second) => first.weight - second.weight);
  return new Map(sorted.map((styled) => [styled.property, styled]));
}

function toDeclared(name: string, value: string): Declared {
  // The library needs some time for each, and thousands of elements have the style of one rule.
  let last: { replaced: string; isValid: boolean } | undefined;
  return {
    value,
    isValid(replaced) {
      if (last?.replaced !== replaced) last = { replaced, isValid: isValid(name, replaced) };
      return last.isValid;
    },
    onlyHides: false,
  };
}

const ALIASES = new Map([
  ["background", "background-color"],
  ["font", "font-size"],
  ["-webkit-text-fill-color", "text-fill-color"],
  ["mask", "mask-image"],
  ["-webkit-mask", "mask-image"],
  ["-webkit-mask-image", "mask-image"],
  ["-webkit-clip-path", "clip-path"],
  ["-webkit-transform", "transform"],
  ["grid-template", "grid-template-rows"],
  ["overflow-x", "overflow"],
  ["overflow-y", "overflow"],
]);

const MAX_VALUE_LENGTH = 1000;

function toStyled({ property: written, value, important }: Declaration, context: StyleContext): Styled[] {
  const name = cssTree().ident.decode(written).toLowerCase();
  const property = ALIASES.get(name) ?? name;
  if (!isRelevant(property)) return [];
  const text = cssTree().generate(value);
  const decoded = text.length > MAX_VALUE_LENGTH ? OPAQUE : cssTree().ident.decode(text).toLowerCase();
  const meant = context.quirksMode ? withQuirks(name, decoded) : decoded;
  const { origin } = context;
  const weight = important ? IMPORTANT + (origin === ORIGIN.layer ? ORIGIN.importantLayer : origin) : origin;
  const styled = { ...toDeclared(name, meant), property, weight };
  if (name.startsWith("--")) return [styled];
  // A color hides only together with the other one.
  const counts = isValid(name, evaluateMath(meant, PAGE.fontSize)) || (!isColor(property) && isHiding([styled]));
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
  if (isUnread(value) || /\(from\s/.test(value)) return true;
  const parts = value.replaceAll(/url\([^)]*\)/g, " url ").match(/[^\s,()/]+/g) ?? [];
  if (parts.length > MAX_PARTS) return false;
  if (cssTree().lexer.matchProperty(name, value).matched) return true;
  // Office writes the names of old systems.
  return isColor(name) && cssTree().lexer.match("<deprecated-system-color>", value).matched !== null;
}

function reachOf({ name, prelude }: Atrule): Reach {
  if (/keyframes$/i.test(name)) return "nothing";
  if (name.toLowerCase() !== "media") return "what hides";
  return reachOfMedia(prelude ? cssTree().generate(prelude) : "");
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
    if (property) return [{ ...toDeclared(property, text), property, weight: ORIGIN.attribute }];
    if (name !== "style") return [];
    const list = parseCss(value, "declarationList");
    return list?.type === "DeclarationList" ? toStyles(list.children, { origin: ORIGIN.inline, quirksMode }) : [HIDDEN];
  });
}
