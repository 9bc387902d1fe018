import { isObject, parseJson } from "../../shared/json.ts";
import type { Block, Cell } from "./card.ts";
import { findPlacesIn, type FindPlaces, type KnownText } from "./stands.ts";
import { toChangedLines } from "./text-diff.ts";

/** A block without its part and its origin. */
type ArgumentBlock = Shape<Extract<Block, { kind: "table" | "text" | "diff" | "json" }>>;
type Shape<Whole> = Whole extends Block ? Omit<Whole, "part" | "from"> : never;

export interface ArgumentOptions {
  /** Names of the arguments that the operator fixed. */
  fixed: readonly string[];
  /** The texts that the agent has read. */
  reads: readonly KnownText[];
  /** The texts of its event. */
  events: readonly string[];
  show(text: string): string;
}

interface Drawing extends Pick<ArgumentOptions, "fixed" | "reads" | "show"> {
  findPlaces: FindPlaces;
}

/**
 * The final arguments of a call, each in the form in which a person sees most: values and lists as tables, texts line by
 * line, a change as a diff, the rest as JSON. Nothing is left out.
 */
export function toArgumentBlocks(
  args: Record<string, unknown>,
  { events, ...options }: ArgumentOptions,
): ArgumentBlock[] {
  const known = [...events.map((text) => ({ name: "event", text })), ...options.reads];
  const drawing: Drawing = { ...options, findPlaces: findPlacesIn(known) };
  const pairs = findPairs(args);
  const paired = new Set(pairs.flatMap(({ before, after }) => [before, after]));
  const rest = Object.entries(args).filter(([name]) => !paired.has(name));
  const flat = rest.filter(([, value]) => isShort(value));
  const others = rest.filter(([, value]) => !isShort(value));
  return [
    ...(flat.length > 0 ? [{ kind: "table" as const, rows: flat.map((entry) => toRow(entry, drawing)) }] : []),
    ...pairs.map((pair) => toDiff(pair, args, drawing)),
    ...others.map(([name, value]) => toBlock(name, value, drawing)),
  ];
}

const MAX_SHORT = 300;

/** Whether a value fits a cell of a table. */
function isShort(value: unknown): boolean {
  if (typeof value === "string") return value.length <= MAX_SHORT && !/[\n\r]/.test(value);
  return value === null || typeof value !== "object";
}

function toRow([name, value]: [string, unknown], { fixed, findPlaces, show }: Drawing): Cell[] {
  return [{ text: show(name) }, toCell(value, show, fixed.includes(name) ? ["fixed"] : findPlaces(value))];
}

function toCell(value: unknown, show: Drawing["show"], stands?: string[]): Cell {
  return { text: show(toValue(value)), ...(stands && { stands }) };
}

/** A value as it will be sent. A text that could be taken for another value, or for more than one, is in quotation marks. */
function toValue(value: unknown): string {
  const isPlain = typeof value === "string" && /^[^\s\\]+$/.test(value) && parseJson(value) === undefined;
  return isPlain ? value : toEscapedJson(value);
}

interface Pair {
  name: string;
  before: string;
  after: string;
}

/** The names of a text and what replaces it. */
const PAIRS = [
  { before: /^old(?=[A-Z_-]|$)/, after: "new" },
  { before: /^before(?=[A-Z_-]|$)/, after: "after" },
  { before: /^find(?=[A-Z_-]|$)/, after: "replace" },
];

function findPairs(args: Record<string, unknown>): Pair[] {
  return Object.keys(args).flatMap((before) => {
    const form = PAIRS.find((one) => one.before.test(before));
    const after = form && before.replace(form.before, form.after);
    if (after === undefined || ![args[before], args[after]].every((value) => typeof value === "string")) return [];
    return [{ name: `${before} → ${after}`, before, after }];
  });
}

function toDiff({ name, before, after }: Pair, args: Record<string, unknown>, { show }: Drawing): ArgumentBlock {
  const lines = toChangedLines(String(args[before]), String(args[after]));
  if (!lines || lines.length === 0) return toJson(name, { [before]: args[before], [after]: args[after] }, show);
  return { kind: "diff", name: show(name), lines: lines.map((line) => ({ ...line, text: show(line.text) })) };
}

function toBlock(name: string, value: unknown, drawing: Drawing): ArgumentBlock {
  const { show, findPlaces } = drawing;
  if (typeof value === "string") return toTextBlock(name, value, drawing);
  if (isObject(value) && isFlat(value)) {
    const rows = Object.entries(value).map((entry) => toRow(entry, { ...drawing, fixed: [] }));
    return { kind: "table", name: show(name), rows };
  }
  const columns = findColumns(value);
  if (!columns || !Array.isArray(value)) return toJson(name, value, show);
  const rows = value.map((item: Record<string, unknown>) =>
    columns.map((column) => toCell(item[column], show, findPlaces(item[column]))),
  );
  return { kind: "table", name: show(name), columns: columns.map(show), rows };
}

function isFlat(value: Record<string, unknown>): boolean {
  const values = Object.values(value);
  return values.length > 0 && values.every(isShort);
}

/** The names in a list of flat objects that all have the same. */
function findColumns(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || !value.every((item) => isObject(item) && isFlat(item))) return undefined;
  const columns = Object.keys(value[0] ?? {});
  const key = JSON.stringify(columns);
  return columns.length > 0 && value.every((item) => JSON.stringify(Object.keys(item)) === key) ? columns : undefined;
}

function toTextBlock(name: string, value: string, { reads, show }: Drawing): ArgumentBlock {
  const before = reads.map(({ text }) => findText(parseJson(text), name)).findLast((found) => found !== undefined);
  const lines = before === undefined || before === value ? undefined : toChangedLines(before, value);
  const isChange = lines?.some(({ kind }) => kind === "same") === true;
  if (lines && isChange) {
    return { kind: "diff", name: show(name), lines: lines.map((line) => ({ ...line, text: show(line.text) })) };
  }
  return { kind: "text", name: show(name), text: show(value) };
}

const MAX_DEPTH = 6;

/** A text of this name in what was read: what the argument replaces. */
function findText(value: unknown, name: string, depth = 0): string | undefined {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return undefined;
  const own = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  if (typeof own === "string") return own;
  for (const item of Object.values(value)) {
    const found = findText(item, name, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function toJson(name: string, value: unknown, show: Drawing["show"]): ArgumentBlock {
  return { kind: "json", name: show(name), text: show(toEscapedJson(value, 2)) };
}

/** JSON whose escapes of four digits are written as `toVisible` writes characters. */
function toEscapedJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, undefined, indent) ?? "";
  return json.replaceAll(/\\(?:u([\da-f]{4})|.)/g, (found, hex?: string) =>
    hex === undefined ? found : `\\u{${Number.parseInt(hex, 16).toString(16)}}`,
  );
}
