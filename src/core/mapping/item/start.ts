import type { MappingInput } from "../../config/schema/generated.ts";
import { toAuthorText } from "../../shared/author.ts";
import { toOneLine } from "../../shared/text/text.ts";
import type { Author } from "../../types.ts";
import type { Diagnostics } from "../diagnostics.ts";
import { compileCallPattern, compileGlobs } from "../pattern.ts";
import { type Budget, compileField, type Template } from "../template/template.ts";

/** Who is behind an event, and whether that person may start a turn. */
export interface Start {
  author: Author;
  /** `from` has the author's id or `@name`. */
  isNamed: boolean;
  /** Nobody but `anyone` lets the author start a turn. */
  isStranger: boolean;
  /** Why nothing starts. Absent: a turn may. */
  refusal?: string;
}

/** Undefined: the event has no author. A machine made it. */
export type FindStart = (context: object, budget: Budget) => Start | undefined;

/** Undefined: the mapping says of no event who is behind it. */
export function compileStart(mapping: MappingInput, diagnostics: Diagnostics): FindStart | undefined {
  const { author, from, asks = from?.value !== undefined } = mapping;
  if (!author && from?.value === undefined) return undefined;
  const read = from?.value === undefined ? compileFields(mapping, diagnostics) : compileValue(from.value, diagnostics);
  const prefixes = (author ?? []).flatMap(({ of }) => (of === undefined ? [] : [toId("", of)]));
  const entries = from && compileEntries([from.is].flat(), prefixes);
  return (context, budget) => {
    const found = read(context, budget);
    if (!found) return undefined;
    const start = { author: found.author, isNamed: entries?.names(found) ?? false };
    if (!entries) return { ...start, isStranger: false };
    const isIn = !entries.excludes(found) && entries.includes(found);
    const mayStart = isIn || (!entries.excludes(found) && (!asks || entries.hasAnyone));
    const refusal = mayStart ? undefined : `${toAuthorText(found.author)} is not in from: ${entries.text}`;
    if (refusal !== undefined || !asks || !found.isEditedByOther) return { ...start, isStranger: !isIn, refusal };
    return { ...start, isStranger: true, refusal: "somebody else than its author edited it" };
  };
}

/** An author with all that an entry of `from` can name. */
interface FoundAuthor {
  author: Author;
  /** Behind the name of their service. */
  ids: string[];
  handles: string[];
  /** Roles, addresses and numbers, or the lines of `from.value`. */
  others: string[];
  /** Addresses that nobody has verified. They count for `!` alone. */
  claimed: string[];
  isEditedByOther: boolean;
}

type ReadAuthor = (context: object, budget: Budget) => FoundAuthor | undefined;

/** A value stays on its line: no name can add a line, and with it a role. */
function compileValue(value: string, diagnostics: Diagnostics): ReadAuthor {
  const template = compileField("from.value", value, diagnostics, "line");
  return (context, budget) => {
    const others = toLines(template?.render(context, budget));
    const [id] = others;
    if (id === undefined) return undefined;
    return { author: { id }, ids: [], handles: [], others, claimed: [], isEditedByOther: false };
  };
}

/** The first case whose `when` is not blank. */
function compileFields(mapping: MappingInput, diagnostics: Diagnostics): ReadAuthor {
  const { author = [], place } = mapping;
  const isLiteral = compileLiteral(place);
  const cases = author.map(({ of, ...fields }, index) => {
    const templates = Object.entries(fields).map(
      ([name, text]) => [name, compileField(`author[${index}].${name}`, text, diagnostics, "line")] as const,
    );
    return { of, fields: new Map<string, Template | undefined>(templates) };
  });
  return (context, budget) => {
    const read = ({ fields }: (typeof cases)[number], name: AuthorField): string[] =>
      toLines(fields.get(name)?.render(context, budget));
    const found = cases.find((one) => !one.fields.has("when") || read(one, "when").length > 0);
    if (!found) return undefined;
    const [ids, also, claimed] = [read(found, "id"), read(found, "also"), read(found, "claimed")];
    const fullIds = ids.map((one) => toId(one, found.of));
    const handles = read(found, "handle").map((handle) => `@${handle}`);
    const roles = read(found, "role");
    const id = fullIds[0] ?? also[0] ?? claimed[0];
    const name = handles[0] ?? read(found, "title")[0];
    if (id === undefined && name === undefined) return undefined;
    const isMember = read(found, "member").length > 0 || read(found, "room").some(isLiteral);
    const [editor] = read(found, "editor");
    return {
      author: {
        ...(id !== undefined && { id }),
        ...(name !== undefined && { name }),
        ...(roles.length > 0 && { roles }),
      },
      ids: fullIds,
      handles,
      others: [...roles, ...also, ...(isMember ? ["member"] : [])],
      claimed,
      isEditedByOther: editor !== undefined && !ids.includes(editor),
    };
  };
}

function toId(id: string, of: string | undefined): string {
  return of === undefined ? id : `${of}:${id}`;
}

type AuthorField = keyof NonNullable<MappingInput["author"]>[number];

/** Whether a place is among those that are written without a pattern. */
function compileLiteral(place: MappingInput["place"]): (room: string) => boolean {
  const written = [place ?? []].flat().map((entry) => entry.trim().toLowerCase());
  const literal = new Set(written.filter((entry) => !entry.startsWith("!") && !entry.includes("*")));
  return (room) => literal.has(room.toLowerCase());
}

interface Entries {
  /** The list as it was written. */
  text: string;
  hasAnyone: boolean;
  names(author: FoundAuthor): boolean;
  includes(author: FoundAuthor): boolean;
  excludes(author: FoundAuthor): boolean;
}

function compileEntries(written: readonly string[], prefixes: readonly string[]): Entries {
  const entries = written.map((entry) => entry.trim()).filter((entry) => entry !== "");
  const excluded = entries.filter((entry) => entry.startsWith("!"));
  const listed = entries.filter((entry) => !entry.startsWith("!"));
  // A pattern for everybody does not say that they are trusted.
  const isAnyone = (entry: string): boolean => entry === ANYONE || /^\*+$/.test(entry);
  const own = compileList(
    listed.filter((entry) => !isAnyone(entry)),
    prefixes,
  );
  const never = compileList(
    excluded.map((entry) => entry.slice(1).trim()),
    prefixes,
  );
  const text = entries.length === 0 ? "[]" : entries.join(", ");
  return { ...own, text, hasAnyone: listed.some(isAnyone), excludes: never.excludes };
}

const ANYONE = "anyone";

/** Ids differ by case: `29:1aB` and `29:1Ab` are two people. */
function compileList(list: readonly string[], prefixes: readonly string[]): Omit<Entries, "text" | "hasAnyone"> {
  const isId = (entry: string): boolean => prefixes.some((prefix) => entry.startsWith(prefix));
  const ids = (prefixes.length === 0 ? list : list.filter(isId)).map(compileCallPattern);
  const others = list.filter((entry) => !isId(entry));
  const [matches, matchesSpaced] = [others, others.filter((entry) => /\s/.test(entry))].map(compileGlobs);
  // `*@acme.com` is no address behind another one.
  const isListed = (text: string): boolean => (/\s/.test(text) ? matchesSpaced : matches)?.(text) ?? false;
  const names = ({ ids: own, handles }: FoundAuthor): boolean =>
    own.some((id) => ids.some((isOne) => isOne(id))) || handles.some(isListed);
  const includes = (author: FoundAuthor): boolean => names(author) || author.others.some(isListed);
  return { names, includes, excludes: (author) => includes(author) || author.claimed.some(isListed) };
}

function toLines(text = ""): string[] {
  return text
    .split("\n")
    .map((line) => toOneLine(line))
    .filter((line) => line !== "");
}
