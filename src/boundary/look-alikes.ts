/** A text as it looks, for searching: lower-case ASCII without white space, marks or anything that cannot be seen. */
export interface Skeleton {
  text: string;
  /** For each character of `text`, the index in the original of the code point it came from. */
  origins: number[];
}

/** Stands for what looks like no ASCII at all. No pattern contains it. */
const OTHER = "~";

/** Marks, control and format characters (zero-width, bidi), white space, and the blank of Braille. */
const UNSEEN = /[\p{M}\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\s\u2800]/u;

/** First code points of alphabets in boxes and as flags, which NFKD leaves as they are. */
const BOXED_ALPHABETS = [0x1f150, 0x1f170, 0x1f1e6];

/** Enough for ordinary text; the bound keeps a hostile one from filling the memory. */
const MAX_FOLDS = 16_384;
const folds = new Map<number, string>();

/** The longest that a look-alike folds to ("<<<", "a.m."); what is longer is a word of its own and imitates nothing. */
const MAX_FOLD_LENGTH = 4;

export function toSkeleton(original: string): Skeleton {
  const origins: number[] = [];
  let text = "";
  for (let index = 0; index < original.length; index += 1) {
    const code = original.codePointAt(index) ?? 0;
    const folded = code < 0x80 ? foldAscii(code) : foldOther(code);
    for (let length = folded.length; length > 0; length -= 1) origins.push(index);
    text += folded;
    if (code > 0xffff) index += 1;
  }
  return { text, origins };
}

function foldAscii(code: number): string {
  if (code <= 0x20 || code === 0x7f) return "";
  return String.fromCharCode(code >= 0x41 && code <= 0x5a ? code + 0x20 : code);
}

function foldOther(code: number): string {
  const known = folds.get(code);
  if (known !== undefined) return known;
  const folded = foldWhole(String.fromCodePoint(code));
  if (folds.size === MAX_FOLDS) folds.clear();
  folds.set(code, folded);
  return folded;
}

function foldWhole(char: string): string {
  const folded = HOMOGLYPHS.get(char) ?? Array.from(char.normalize("NFKD"), foldPart).join("");
  return folded.length > MAX_FOLD_LENGTH ? OTHER : folded;
}

function foldPart(part: string): string {
  if (UNSEEN.test(part)) return "";
  const code = part.codePointAt(0) ?? 0;
  return code < 0x80 ? foldAscii(code) : (HOMOGLYPHS.get(part) ?? foldBoxed(code));
}

function foldBoxed(code: number): string {
  const first = BOXED_ALPHABETS.find((start) => code >= start && code < start + 26);
  return first === undefined ? OTHER : String.fromCharCode(0x61 + code - first);
}

/**
 * Characters that look like the ASCII that our markers and the models' control tokens are written in: from Unicode's
 * `confusables.txt` (UTS #39) the scripts that imitate Latin, without what NFKD already folds; added by hand are small
 * capitals, Cyrillic and Greek small letters, brackets, bars. Right-to-left scripts are left out: inside a marker they
 * would turn its order round, so they imitate nothing.
 */
const LOOK_ALIKES: Record<string, string> = {
  "<": "«˂ᐸ‹≺❬❮⟨⟪⦑⧼〈《𝈶",
  "<<": "≪",
  "<<<": "⋘",
  ">": "»˃ᐳ›≻❭❯⟩⟫⦒⧽〉》𝈷",
  ">>": "≫⨠",
  ">>>": "⋙",
  "[": "⁅❲⟦【〔〖〚",
  "]": "⁆❳⟧】〕〗〛",
  "|": "ǀ∣⏽│┃╎❘❙❚",
  _: "ˍ▁",
  "-": "˗‐‒–—―⁃−∸─━➖⨩⨪Ⲻ⸚",
  "/": "᜵⁁⁄∕╱⟋⧶⧸Ⳇ〳㇓𝈺",
  a: "ɐɑΑαАаᎪᗅᴀẚ⍶⍺ꓮ",
  b: "ƀƂƃƄɓʙΒБВЬвѢѣҌҍᏏᏴᑲᑳᖯᗷꓐꞴ",
  c: "¢ȼϲϹСсҪҫᏟᴄ₡Ⲥⲥꓚꮯ🅮🝌",
  d: "ÐĐđƉƌɖɗԁᎠᏧᑯᗞᗪᴅ₫ꓒꓓ",
  e: "ǝɆɇəΕΣεЕеєҽҿᎬᴇ℮⋿ꓰꬲ",
  f: "ƑƒϜքᖴᵮẝꓝꜰꞘꞙꬵ𝈓",
  g: "ƍǤǥɠɡɢԌցᏀᏳᶃꓖ",
  h: "ĦħɦʜΗНћҢһӇӉհᎻᏂᏲᕼᵸⱧⲎꓧꚕ",
  i: "ıɨɩɪιіӏᎥᵻᵼ⍳⍸ꙇꭵ",
  j: "ɈɉͿϳЈјᎫᒍᴊꓙꞲ",
  k: "ĸƙΚκКкҚҞᏦᴋ₭ⱩⲔꓗꝀ",
  l: "ŁłƖƗƚɫɭʟΙІӀᏞᒪⲒⳐꓡꓲ￨𝈪",
  m: "ΜϺМмӍᎷᗰᴍⲘꓟ",
  n: "ƝƞɲɳɴΝηпոռᵰⲚꓠ𐆎",
  o: "ØøƟɵΘΟθοσОоѲѳӨөՕօᎾᏫᴏᴑ⊖⊝⍬ⲞⲟꓳꝊꝋꬽꬾꭴꮎꮻ𝈚🜔",
  p: "ƥΡρРрᏢᑭᴘᵽ⍴Ⲣⲣꓑ",
  q: "ʠԛգզ",
  r: "ƦɍɹɼɽʀгғᎡᏒᖇᴦᵲⲅꓣꭇꭈꮁ𝈖",
  s: "ƽʂЅѕՏᏕᏚᵴꓢꜱꮪ",
  t: "ŦŧƭƮȾΤτТтҬᎢᴛᵵ₮⊤⍡⟙Ⲧꓔ🝨",
  u: "ɄʋμυՍսᏌᑌᴜᵾ∪⋃ꓴꞟꭎꭒꮜ",
  v: "νѴѵᏙᐯᴠ∨⋁ꓦꮩ𐆗𝈍🜈",
  w: "ɯωшщѡѽԜԝաᎳᏔᴡ₩ꓪꝡꮃ",
  x: "×ΧХхҲᕁᕽ᙭᙮╳⤫⤬⨯⨰ⲬꓫꞳ𐆖",
  y: "¥ƴɎɏɣʏΥγУуҮүҰұᎩᎽᶌỿⲨꓬꭚ",
  z: "ƵƶȤȥʐΖᏃᴢᵶꓜꮓ𐋵",
};

/** Look-alike → the ASCII it imitates, in lower case; some brackets stand for two or three. */
const HOMOGLYPHS: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([ascii, lookAlikes]) => Array.from(lookAlikes, (one) => [one, ascii] as const)),
);
