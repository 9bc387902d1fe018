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
export const HOMOGLYPHS: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([ascii, lookAlikes]) =>
    Array.from(lookAlikes, (one) => [one, ascii] as const),
  ),
);
