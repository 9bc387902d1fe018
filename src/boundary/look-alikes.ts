/** A text as it looks, for searching: lower-case ASCII without white space, marks and invisible characters. */
export interface Skeleton {
  text: string;
  /** For each character of `text`, the index in the original of the code point it came from. */
  origins: number[];
}

/** Replaces a character that looks like no ASCII. No pattern contains it. */
const OTHER = "~";

/** Marks, control and format characters (zero-width, bidi), white space, and the blank Braille pattern. */
const INVISIBLE = /[\p{M}\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\s\u2800]/u;

/** First code points of the letters in boxes and the regional indicators, which NFKD does not change. */
const BOXED_ALPHABETS = [0x1f150, 0x1f170, 0x1f1e6];

/** Limits the memory that hostile text can fill. */
const MAX_FOLDS = 16_384;
const folds = new Map<number, string>();

/** The longest text that one look-alike folds to ("<<<", "a.m."). A longer one is a word and imitates nothing. */
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
  const char = String.fromCodePoint(code);
  const folded = HOMOGLYPHS.get(char) ?? Array.from(char.normalize("NFKD"), foldPart).join("");
  const result = folded.length > MAX_FOLD_LENGTH ? OTHER : folded;
  if (folds.size === MAX_FOLDS) folds.clear();
  folds.set(code, result);
  return result;
}

function foldPart(part: string): string {
  if (INVISIBLE.test(part)) return "";
  const code = part.codePointAt(0) ?? 0;
  return code < 0x80 ? foldAscii(code) : (HOMOGLYPHS.get(part) ?? foldBoxed(code));
}

function foldBoxed(code: number): string {
  const first = BOXED_ALPHABETS.find((start) => code >= start && code < start + 26);
  return first === undefined ? OTHER : String.fromCharCode(0x61 + code - first);
}

/**
 * Characters that look like the ASCII of our markers and of the models' control tokens. From Unicode's `confusables.txt`
 * (UTS #39): the scripts that imitate Latin, without what NFKD folds. Added by hand: small capitals, Cyrillic and Greek
 * small letters, brackets, bars. Right-to-left scripts imitate nothing, because they would reverse a marker's order.
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

/** Look-alike → the ASCII it imitates, in lower case; some brackets imitate two or three characters. */
const HOMOGLYPHS: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([ascii, lookAlikes]) => Array.from(lookAlikes, (one) => [one, ascii] as const)),
);
