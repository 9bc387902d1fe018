import { CONFUSABLES, OTHER_CONFUSABLES } from "./confusables.generated.ts";

/**
 * A text for a person who decides by what they see: each character that is invisible, controls the direction or the device,
 * or looks like ASCII without being it is written as its number, `\u{202e}`. Line ends, tabs and emoji stay, and so do words in
 * Hebrew and Arabic letters.
 */
export function toVisible(text: string): string {
  if (PLAIN.test(text)) return text;
  // The parts at odd places are what the expression has found.
  return text
    .split((emoji ??= /(\p{RGI_Emoji})/v))
    .map((part, at) => (at % 2 === 1 ? part : markHidden(part)))
    .join("");
}

/** The sequences that services draw as one picture: some hold joiners that are hidden elsewhere. Its creation takes milliseconds. */
let emoji: RegExp | undefined;

function markHidden(text: string): string {
  const marked = text.replaceAll(WORD, markConfusable);
  return marked.replaceAll(HIDDEN, (found) => Array.from(found, toNumber).join(""));
}

/** Everything between spaces, quotation marks, brackets and commas: a word of a text, an id, an address. */
const WORD = /[^\s"'()[\]{}<>,;]+/gu;

/** Hebrew and Arabic letters are read as such where no ASCII stands beside them: an id could hide one as an `l`. */
function markConfusable(word: string): string {
  const isText = !/[A-Za-z\d]/.test(word);
  const isRead = (char: string): boolean => !isConfusable(char) || (isText && RIGHT_TO_LEFT.test(char));
  return Array.from(word, (char) => (isRead(char) ? char : toNumber(char))).join("");
}

const RIGHT_TO_LEFT = /[[\p{scx=Hebrew}\p{scx=Arabic}]&&[\p{L}\p{M}]]/v;

const PLAIN = /^[\n\t\x20-\x7e]*$/;

/**
 * Control and format characters, lone surrogates and unassigned characters, white space that is no plain space, what has no
 * form by default, the blank Braille pattern, and marks that change how ASCII looks.
 */
const HIDDEN =
  /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800](?<![\n\t])|(?! )\p{Zs}|(?<=^|[\0-\x7f])\p{M}+/gu;

let table: ReadonlySet<string> | undefined;

function createTable(): ReadonlySet<string> {
  return new Set([...Object.values(CONFUSABLES), OTHER_CONFUSABLES].flatMap((chars) => Array.from(chars)));
}

/** Digits of other scripts are numbers to a program, and look like other digits. */
function isConfusable(char: string): boolean {
  if (char <= "\x7f") return false;
  table ??= createTable();
  return table.has(char) || /\p{Nd}/u.test(char) || /^[\x20-\x7e]+$/.test(char.normalize("NFKD"));
}

function toNumber(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}
