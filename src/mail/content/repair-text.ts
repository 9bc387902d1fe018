/** A longer text is left as it is. */
const MOST_CHARACTERS = 1_000_000;

const windows1252 = new TextDecoder("windows-1252");
const BYTE_OF = new Map(
  Array.from({ length: 256 }, (_, byte) => [windows1252.decode(Uint8Array.of(byte)), byte]),
);

/**
 * Undoes the commonest wrong label: UTF-8 that was declared as ASCII or Latin-1, and so was read as `JÃ¶rg`. Any other text
 * is given back as it is; what would pass for UTF-8 by chance does not occur in a language.
 */
export function repairText(text: string): string {
  if (text.length > MOST_CHARACTERS || !/[\u00c2-\u00f4]/.test(text)) return text;
  const bytes = Array.from(text, (character) => BYTE_OF.get(character) ?? -1);
  if (bytes.includes(-1)) return text;
  const repaired = decode(Uint8Array.from(bytes));
  // Nothing but an incomplete end: `JOSÉ` ends in what begins a character of two bytes.
  return repaired && /\P{ASCII}/u.test(repaired) ? repaired : text;
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    // As a stream: a text that was cut may end within a character.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}
