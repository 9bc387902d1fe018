import type * as CssSelect from "css-select";
import type { CssNode, Selector } from "css-tree";
import type { DefaultTreeAdapterTypes as Tree } from "parse5";
import { loadAtFirstUse } from "../system/package.ts";
import { cssTree } from "./css-tree.ts";

const cssSelect = loadAtFirstUse<typeof CssSelect>("css-select");

type Element = Tree.Element;

export type Matches = (element: Element) => boolean;

/** Pseudo-classes of a pointer and of input, and the old ones of a part of an element. */
const NEVER =
  /^(?:hover|active|visited|target|(?:focus|target)-within|focus(?:-visible)?|before|after|first-l(?:ine|etter))$/i;
/** Other pseudo-classes of browsers, which the library evaluates as they do. */
const KNOWN =
  /^(?:any-link|link|disabled|enabled|checked|required|optional|read-only|read-write|lang|root|scope|empty|is|where|not|has|(?:first|last|only)-(?:child|of-type)|nth-(?:last-)?(?:child|of-type))$/i;
const KNOWN_PARTS = /^(?:before|after|first-l(?:ine|etter)|marker|placeholder|selection|backdrop|-webkit-.*)$/i;

/** Comparisons of selectors with elements. */
const MAX_STEPS = 2_000_000;

export const matchAll: Matches = () => true;
export const matchNothing: Matches = () => false;

export interface Selectors {
  /**
   * `matchNothing` for what is no whole element that nobody has touched; undefined if the selector cannot be evaluated.
   * `onError`: what counts where it fails.
   */
  compile(selector: Selector, onError: boolean): Matches | undefined;
  /** Whether the selectors of the document cause too much work. The rest is not evaluated. */
  areExhausted(): boolean;
}

/** The selectors of one document. */
export function createSelectors(quirksMode: boolean): Selectors {
  const { isExhausted, ...adapter } = createAdapter();
  return {
    compile(selector, onError) {
      if (Array.from(selector.children).some(isNever)) return matchNothing;
      if (cssTree().find(selector, isUnknownClass)) return undefined;
      try {
        const options = { adapter, quirksMode, cacheResults: false };
        const matches = cssSelect().compile<Tree.Node, Element>(cssTree().generate(selector), options);
        return (element) => {
          try {
            return matches(element);
          } catch {
            return onError;
          }
        };
      } catch {
        return undefined;
      }
    },
    areExhausted: isExhausted,
  };
}

function isNever(node: CssNode): boolean {
  return node.type === "PseudoElementSelector" || (node.type === "PseudoClassSelector" && NEVER.test(node.name));
}

function isUnknownClass(node: CssNode): boolean {
  return node.type === "PseudoClassSelector" && !NEVER.test(node.name) && !KNOWN.test(node.name);
}

export function hasUnknownPart(selector: Selector): boolean {
  return Array.from(selector.children).some(
    (node) => node.type === "PseudoElementSelector" && !KNOWN_PARTS.test(node.name),
  );
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

/** A number with 4 bits each for ids, classes and elements. */
export function specificityOf({ children }: Selector): number {
  const types = Array.from(children, ({ type }) => type);
  const count = (...wanted: string[]): number => Math.min(types.filter((type) => wanted.includes(type)).length, 15);
  return (
    count("IdSelector") * 256 +
    count("ClassSelector", "AttributeSelector", "PseudoClassSelector") * 16 +
    count("TypeSelector")
  );
}
