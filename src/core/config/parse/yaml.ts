import type * as Yaml from "yaml";
import type { Document } from "yaml";
import { appendSegment } from "../../shared/json.ts";
import { loadAtFirstUse } from "../../shared/system/package.ts";
import type { ParsedText, Position } from "./json5.ts";
import { withPeriod } from "../../shared/text/text.ts";

export const yaml = loadAtFirstUse<typeof Yaml>("yaml");

export type { Document };

/** Parses one YAML 1.2 document, with anchors and merge keys. Throws a `RangeError` if it is nested too deeply. */
export function parseYaml(text: string): ParsedText {
  const lines = new (yaml().LineCounter)();
  // Pretty errors would repeat their line, which may contain a secret.
  // Duplicate keys are found while positions are collected.
  const document = yaml().parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    merge: true,
  });
  const parsed: ParsedText = { value: undefined, positions: new Map(), duplicates: [], syntax: [] };
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };

  // For the parser an unknown tag is only a warning, but it would change a value silently.
  for (const { message, pos } of [...document.errors, ...document.warnings]) {
    const place = positionAt(pos[0]);
    const hint = text.split("\n", place.line).at(-1)?.includes("{{") ? ` ${QUOTE_TEMPLATES}` : "";
    parsed.syntax.push({ ...place, message: `This is not YAML: ${withPeriod(message)}${hint}` });
  }
  for (const offset of findLoops(document)) {
    parsed.syntax.push({ ...positionAt(offset), message: "This alias is inside its own anchor. Write its value." });
  }
  if (parsed.syntax.length > 0) return parsed;
  parsed.positions.set("", { line: 1, column: 1 });
  addPositions(document.contents, "", { parsed, positionAt });
  if (parsed.syntax.length > 0) return parsed;
  return { ...parsed, ...toValue(document) };
}

/** Unquoted, `{{name}}` is a map in a map. */
const QUOTE_TEMPLATES = 'Put quotes around a template: "{{name}}".';

interface Walk {
  parsed: ParsedText;
  positionAt: (offset: number) => Position;
}

/** Aliases are not followed: their values have the position of the alias. */
function addPositions(node: unknown, key: string, walk: Walk): void {
  const { isCollection, isMap, isScalar, isSeq } = yaml();
  if (isSeq(node)) {
    node.items.forEach((item, index) => addPosition(item, item, appendSegment(key, index), walk));
  } else if (isMap(node)) {
    for (const { key: name } of node.items) {
      if (!isCollection(name)) continue;
      const message = `A list or a map cannot be a key. ${QUOTE_TEMPLATES}`;
      walk.parsed.syntax.push({ ...walk.positionAt(startOf(name)), message });
    }
    for (const pair of node.items)
      addPosition(
        pair.key,
        pair.value,
        appendSegment(key, String(isScalar(pair.key) ? pair.key.value : pair.key)),
        walk,
      );
  }
}

function addPosition(at: unknown, value: unknown, key: string, walk: Walk): void {
  const { parsed, positionAt } = walk;
  const place = positionAt(startOf(at));
  if (parsed.positions.has(key)) parsed.duplicates.push({ key, ...place });
  parsed.positions.set(key, place);
  if (isCutText(value)) (parsed.warnings ??= []).push({ key, ...place, message: CUT_TEXT });
  addPositions(value, key, walk);
}

/** `PR #{{number}}` is the text `PR` with a comment. */
function isCutText(node: unknown): boolean {
  return yaml().isScalar(node) && /^(?:\{\{|\$\{)/.test(node.comment ?? "");
}

const CUT_TEXT = "For YAML, a comment begins at the #: the text ends before it. Put quotes around the text.";

function startOf(node: unknown): number {
  return (yaml().isNode(node) && node.range?.[0]) || 0;
}

/** Offsets of aliases inside the node that they refer to: their values would be infinite. */
function findLoops(document: Document): number[] {
  const loops: number[] = [];
  yaml().visit(document, {
    Alias(_key, alias, ancestors) {
      const target = alias.resolve(document);
      if (target !== undefined && ancestors.includes(target)) loops.push(startOf(alias));
    },
  });
  return loops;
}

/** Aliases without an anchor, and too many aliases, are found only here. */
function toValue(document: Document): Pick<ParsedText, "value" | "syntax"> {
  try {
    return { value: document.toJS(), syntax: [] };
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    return { value: undefined, syntax: [{ message: `This is not YAML: ${withPeriod(error.message)}` }] };
  }
}
