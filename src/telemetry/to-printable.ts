const CONTROL = /[[\p{Cc}\p{Bidi_Control}]--[\n\t]]/gv;

/** Text from outside for a terminal: a control character, which could rewrite what stands there, as its escape. */
export function toPrintable(text: string): string {
  return text.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
