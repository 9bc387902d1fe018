import { compile } from "css-select";
import {
  type Atrule,
  type CssNode,
  type Declaration,
  generate,
  ident,
  type List,
  parse,
  type Rule,
  type Selector,
} from "css-tree";
import type { DefaultTreeAdapterTypes as Tree } from "parse5";
import { type Appearance, isRelevant, OPAQUE, PAGE, SCREEN_WIDTH, toAppearance, toPixels } from "./appearance.ts";

type Element = Tree.Element;

/** The appearance of an element; undefined if it is hidden with everything in it. */
export type ReadAppearance = (element: Element, parent: Appearance) => Appearance | undefined;

/** The parser's work for an error grows with the text that contains it. In characters. */
const ERROR_WORK = 20_000;
const MAX_ERROR_WORK = 30_000_000;
/** Comparisons of selectors with elements. */
const MAX_STEPS = 2_000_000;

/**
 * Reads the styles of a document as a browser with a wide screen would. What cannot be evaluated, because it is too large
 * or not known here, counts as hidden.
 */
export function createStyles(styleSheets: string, quirksMode: boolean): ReadAppearance {
  const parseCss = createParser();
  const adapter = createAdapter();
  const rules = toRules(parseCss(styleSheets, "stylesheet")).map((rule) => ({
    ...rule,
    matches: compileSafely(rule, { adapter, quirksMode, cacheResults: false }),
  }));

  return function readAppearance(element, parent) {
    const declared: Styled[] = [];
    for (const { matches, styles } of rules) {
      if (matches(element)) declared.push(...styles);
      if (adapter.isExhausted()) return undefined;
    }
    declared.push(...readOwnStyles(element, parseCss));
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

function toRules(sheet: CssNode | undefined): StyleRule[] {
  const rules: StyleRule[] = [];
  if (sheet?.type !== "StyleSheet") return [{ selector: "*", styles: [HIDDEN] }];
  collect(sheet.children);
  return rules;

  function collect(nodes: List<CssNode>): void {
    for (const node of nodes) {
      if (node.type === "Rule") add(node);
      if (node.type === "Atrule" && node.block && isApplied(node)) collect(node.block.children);
    }
  }

  function add({ prelude, block }: Rule): void {
    const declared = toStyles(block.children, ORIGIN.author);
    if (declared.length === 0 || prelude.type !== "SelectorList") return;
    // A rule may repeat a property thousands of times.
    const last = new Map(declared.map((styled) => [styled.property + styled.weight, styled]));
    for (const selector of prelude.children) {
      if (selector.type !== "Selector") continue;
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

/** Nested rules are not matched: what hides there counts as if the rule around them said it. */
function toStyles(nodes: Iterable<CssNode>, origin: number, isNested = false): Styled[] {
  return Array.from(nodes).flatMap((node) => {
    if (node.type === "Declaration") {
      return toStyled(node, origin).filter((styled) => !isNested || isHiding([styled]));
    }
    const isRule = node.type === "Rule" || (node.type === "Atrule" && isApplied(node));
    return isRule && node.block ? toStyles(node.block.children, origin, true) : [];
  });
}

/** Whether a text on an empty page would be hidden. */
function isHiding(styles: Styled[]): boolean {
  return toAppearance(toStyle(styles), PAGE)?.isVisible !== true;
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

function toStyled({ property: written, value, important }: Declaration, origin: number): Styled[] {
  const name = ident.decode(written).toLowerCase();
  const property = ALIASES.get(name) ?? name;
  if (!isRelevant(property)) return [];
  const text = generate(value);
  const decoded = text.length > MAX_VALUE_LENGTH ? OPAQUE : ident.decode(text).toLowerCase();
  return [{ property, value: decoded, weight: origin + (important ? ORIGIN.important : 0) }];
}

function isApplied({ name, prelude }: Atrule): boolean {
  if (/keyframes$/i.test(name)) return false;
  if (name.toLowerCase() !== "media" || !prelude) return true;
  return generate(prelude).toLowerCase().split(",").some(isWideScreen);
}

/** Whether a media query holds on a computer. Features that are not known here are there. */
function isWideScreen(query: string): boolean {
  const features = Array.from(query.matchAll(/(?:(min|max)-(?:device-)?width:|width([<>])=?)([^)]*)/g));
  const fits = features.every(([, prefix, sign, width = ""]) => {
    const pixels = toPixels(width, 16)[0] ?? 0;
    return prefix === "min" || sign === ">" ? pixels <= SCREEN_WIDTH : pixels >= SCREEN_WIDTH;
  });
  const holds = fits && !/\b(?:print|speech|tty|tv|projection|handheld|braille|aural)\b|scheme:dark/.test(query);
  return query.startsWith("not ") ? !holds : holds;
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

/** Selectors of a pointer, of a part of an element, and of input. */
const NEVER = /::|:(?:hover|active|visited|target|checked|focus|before|after|first-l)/i;

/** A selector that cannot be evaluated matches if its styles hide text, and otherwise does not. */
function compileSafely(
  { selector, styles }: StyleRule,
  options: NonNullable<Parameters<typeof compile<Tree.Node, Element>>[1]>,
): (element: Element) => boolean {
  const unknown = isHiding(styles);
  if (NEVER.test(selector)) return () => false;
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

function readOwnStyles(element: Element, parseCss: ParseCss): Styled[] {
  return element.attrs.flatMap(({ name, value }) => {
    const property = STYLE_ATTRIBUTES.get(name);
    const text = value.toLowerCase().replace(/^(?=[\da-f]{3,6}$)/, "#");
    if (property) return [{ property, value: text, weight: ORIGIN.attribute }];
    if (name !== "style") return [];
    const list = parseCss(value, "declarationList");
    return list?.type === "DeclarationList" ? toStyles(list.children, ORIGIN.inline) : [HIDDEN];
  });
}
