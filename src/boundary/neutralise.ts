import { toSkeleton } from "./look-alikes.ts";

const MARKER_REMOVED = "[[MARKER_REMOVED]]";
const TOKEN_REMOVED = "[[CONTROL_TOKEN_REMOVED]]";

/**
 * Replaces everything in a text that imitates the boundary's markers or a model's control tokens, however disguised.
 * The rest stays unchanged, character for character.
 */
export function neutralise(text: string): string {
  if (HARMLESS.test(text)) return text;
  let result = "";
  let done = 0;
  for (const { start, end, replacement } of findForgeries(text)) {
    result += text.slice(done, start) + replacement;
    done = end;
  }
  return result + text.slice(done);
}

interface Forgery {
  start: number;
  end: number;
  replacement: string;
}

/** In order, as positions in the original text. */
function* findForgeries(text: string): Generator<Forgery> {
  const { text: skeleton, origins } = toSkeleton(text);
  FORGERY.lastIndex = 0;
  for (let match = FORGERY.exec(skeleton); match; match = FORGERY.exec(skeleton)) {
    const start = origins[match.index] ?? 0;
    const last = origins[match.index + match[0].length - 1] ?? start;
    const end = last + ((text.codePointAt(last) ?? 0) > 0xffff ? 2 : 1);
    if (match.groups?.marker !== undefined) yield { start, end, replacement: MARKER_REMOVED };
    // A tokenizer knows its tokens only without white space inside: "a < s > b" is arithmetic.
    else if (!/\s/.test(text.slice(start, end))) yield { start, end, replacement: TOKEN_REMOVED };
    else FORGERY.lastIndex = match.index + 1;
  }
}

// The patterns below match the skeleton of a text: lower-case ASCII without white space. Every repetition is bounded, so
// that a search stays linear on hostile text.

const words = ["external", "untrusted", "content"].map(alike);
const backwards = ["tnetnoc", "detsurtnu", "lanretxe"].map(alike);
const end = alike("end");
const closing = "(?:id=[^<>]{0,128}(?=>))?>{0,3}";

/** After a bracket the words may be separated in any way. Without a bracket, only the complete name is a forgery. */
const MARKERS = [
  `<{1,3}/?(?:${end}[_-]*)?${words.join("[_-]*")}${closing}`,
  `(?:${end}_+)?${words.join("_+")}${closing}`,
  // After a right-to-left override a marker is read backwards.
  `[<>]{1,3}${backwards.join("[_-]*")}(?:[_-]*${alike("dne")})?[<>]{0,3}`,
  `${backwards.join("_+")}(?:_+${alike("dne")})?[<>]{0,3}`,
];

/**
 * Tokens that models' chat templates give a meaning beyond text. Plain words such as "Human:" are not included: no current
 * template reserves them, and honest mails and transcripts are full of them.
 */
const CONTROL_TOKENS = [
  // ChatML, Llama 3, Qwen, Phi, DeepSeek, Cohere, gpt-oss; half-open in Gemma 4
  "<\\|[\\w/-]{1,64}\\|?>",
  "<[\\w/-]{1,64}\\|>",
  // Mistral
  `\\[/?${anyOf("inst", "system_prompt", "available_tools", "tool_calls", "tool_results", "tool_content")}\\]`,
  // Llama 2
  "<</?sys>>",
  // Llama 2, Mistral, Gemma, Cohere; <s> is also strike-through in HTML, which is lost
  `</?${anyOf("s", "bos", "eos", "bos_token", "eos_token", "start_of_turn", "end_of_turn")}>`,
  // tags that templates and agents give to roles, thoughts and tools
  `</?${anyOf("system", "system-reminder", "system_prompt", "assistant", "think", "thinking")}>`,
  `</?(?:antml:)?${anyOf("tool_call", "tool_response", "function_calls", "function_results")}>`,
];

/** Any forgery. The group `marker` is set if it imitates one of our own markers. */
const FORGERY = new RegExp(`(?<marker>${MARKERS.join("|")})|${CONTROL_TOKENS.join("|")}`, "g");

/** Matches only text without a forgery: printable ASCII without `<`, `[` and `_`, one of which every pattern needs. */
const HARMLESS = /^[\t\n\r\x20-\x3b\x3d-\x5a\x5c-\x5e\x60-\x7e]*$/;

function anyOf(...tokens: string[]): string {
  return `(?:${tokens.map(alike).join("|")})`;
}

/** A word as a pattern that also accepts ASCII look-alikes of its letters. */
function alike(word: string): string {
  return word.replace(/[il]/g, "[il1|]").replace(/o/g, "[o0]");
}
