import { compile } from "css-select";
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
  type Selector,
} from "css-tree";
import type { DefaultTreeAdapterTypes as Tree } from "parse5";
import { type Appearance, isRelevant, OPAQUE, PAGE, toAppearance } from "./appearance.ts";
import { type Reach, reachOfMedia } from "./media.ts";

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
/** Comparisons of selectors with elements. */
const MAX_STEPS = 2_000_000;

/**
 * Reads the styles of a document as a browser with a wide screen would. What cannot be evaluated, because it is too large
 * or not known here, counts as hidden.
 */
export function createStyles(styleSheets: StyleSheet[], quirksMode: boolean): ReadAppearance {
  const parseCss = createParser();
  const adapter = createAdapter();
  const rules = toRules(styleSheets, parseCss, quirksMode).map((rule) => ({
    ...rule,
    matches: compileSafely(rule, { adapter, quirksMode, cacheResults: false }),
  }));

  return function readAppearance(element, parent) {
    const declared: Styled[] = [];
    for (const { matches, styles } of rules) {
      if (matches(element)) declared.push(...styles);
      if (adapter.isExhausted()) return undefined;
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
  selector: string;
  styles: Styled[];
}

/** The cascade. A specificity has 12 bits, an order 20. */
const ORIGIN = { attribute: 0, author: 2 ** 32, inline: 2 ** 33, important: 2 ** 34 };

function toRules(sheets: StyleSheet[], parseCss: ParseCss, quirksMode: boolean): StyleRule[] {
  const rules: StyleRule[] = [];
  for (const { css, media } of sheets) {
    const sheet = parseCss(css, "stylesheet");
    if (sheet?.type !== "StyleSheet") return [{ selector: "*", styles: [HIDDEN] }];
    collect(sheet.children, reachOfMedia(media));
  }
  return rules;

  function collect(nodes: List<CssNode>, reach: Reach): void {
    if (reach === "nothing") return;
    for (const node of nodes) {
      if (node.type === "Rule") add(node, reach);
      if (node.type !== "Atrule" || !node.block) continue;
      const inner = reachOf(node);
      collect(node.block.children, inner === "everything" ? reach : inner);
    }
  }

  function add({ prelude, block }: Rule, reach: Reach): void {
    const written = toStyles(block.children, { origin: ORIGIN.author, quirksMode });
    const declared = reach === "everything" ? written : onlyHiding(written);
    if (declared.length === 0 || prelude.type !== "SelectorList") return;
    // A rule may repeat a property thousands of times.
    const last = new Map(declared.map((styled) => [styled.property + styled.weight, styled]));
    for (const selector of prelude.children) {
      if (selector.type !== "Selector" || isNever(selector)) continue;
      const weight = rules.length + specificityOf(selector) * 2 ** 20;
      const styles = Array.from(last.values(), (styled) => ({ ...styled, weight: styled.weight + weight }));
      rules.push({ selector: generate(selector), styles });
    }
  }
}

const HIDDEN: Styled = { property: "display", value: "none", weight: ORIGIN.important * 4 };

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
}

/** Nested rules are not matched: what hides there counts as if the rule around them said it. */
function toStyles(nodes: Iterable<CssNode>, context: StyleContext): Styled[] {
  return Array.from(nodes).flatMap((node) => {
    if (node.type === "Declaration") {
      return toStyled(node, context).filter((styled) => !context.isNested || isHiding([styled]));
    }
    const isRule = node.type === "Rule" || (node.type === "Atrule" && reachOf(node) !== "nothing");
    return isRule && node.block ? toStyles(node.block.children, { ...context, isNested: true }) : [];
  });
}

/** Whether a text on an empty page would be hidden. */
function isHiding(styles: Styled[]): boolean {
  return toAppearance(toStyle(styles), PAGE)?.isVisible !== true;
}

/** Those of a rule that hide, alone or together. */
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
  const styled = { property, value: meant, weight: context.origin + (important ? ORIGIN.important : 0) };
  // What a color hides depends on the other one.
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

/** A number with 4 bits each for ids, classes and elements. */
function specificityOf({ children }: Selector): number {
  const types = Array.from(children, ({ type }) => type);
  const count = (...wanted: string[]): number => Math.min(types.filter((type) => wanted.includes(type)).length, 15);
  return (
    count("IdSelector") * 256 +
    count("ClassSelector", "AttributeSelector", "PseudoClassSelector") * 16 +
    count("TypeSelector")
  );
}

/** Pseudo-classes of a pointer and of input, and the old ones of a part of an element. */
const NEVER = /^(?:hover|active|visited|target|focus|before|after|first-l)/i;

/** Whether a selector matches no whole element that nobody has touched. */
function isNever({ children }: Selector): boolean {
  return Array.from(children).some(
    (node) => node.type === "PseudoElementSelector" || (node.type === "PseudoClassSelector" && NEVER.test(node.name)),
  );
}

/** A selector that cannot be evaluated matches if its styles hide text, and otherwise does not. */
function compileSafely(
  { selector, styles }: StyleRule,
  options: NonNullable<Parameters<typeof compile<Tree.Node, Element>>[1]>,
): (element: Element) => boolean {
  const unknown = isHiding(styles);
  try {
    const matches = compile<Tree.Node, Element>(selector, options);
    return (element) => {
      try {
        return matches(element);
      } catch {
        return unknown;
      }
    };
  } catch {
    return () => unknown;
  }
}

/** Throws when the selectors of a document cause too much work. */
function createAdapter() {
  let steps = 0;
  const count = <Result>(result: Result): Result => {
    steps += 1;
    if (steps > MAX_STEPS) throw new RangeError("too many selectors");
    return result;
  };
  const isTag = (node: Tree.Node): node is Element => count("tagName" in node);
  const getChildren = (node: Tree.Node): Tree.Node[] => ("childNodes" in node ? node.childNodes : []);
  const getParent = (node: Tree.Node): Tree.Node | null => count(("parentNode" in node && node.parentNode) || null);
  const getAttributeValue = ({ attrs }: Element, name: string): string | undefined =>
    count(attrs.find((attribute) => attribute.name === name)?.value);
  return {
    isExhausted: () => steps > MAX_STEPS,
    isTag,
    getChildren,
    getParent,
    getAttributeValue,
    hasAttrib: (element: Element, name: string) => getAttributeValue(element, name) !== undefined,
    getName: ({ tagName }: Element) => count(tagName),
    getSiblings: (node: Tree.Node) => getChildren(getParent(node) ?? node),
    // No browser knows the selectors that need it.
    getText() {
      throw new TypeError("unknown selector");
    },
    removeSubsets: (nodes: Tree.Node[]) => nodes,
  };
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
