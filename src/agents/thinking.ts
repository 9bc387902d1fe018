import { LEVELS, type Reasoning, SYNONYMS } from "../core/shared/thinking.ts";

/** The level of the AI SDK for a configured thinking level. `warning` says when it is not the same word. */
export function toReasoning(thinking: string | undefined): { reasoning?: Reasoning; warning?: string } {
  const word = thinking?.trim().toLowerCase();
  if (!word) return {};
  const level = LEVELS.find((known) => known === word);
  if (level) return { reasoning: level };
  const reasoning = SYNONYMS.get(word);
  if (reasoning) return { reasoning, warning: `Thinking level "${word}" was replaced by "${reasoning}".` };
  return {
    warning: `Thinking level "${word.slice(0, 40)}" is unknown and was ignored. Known levels: ${LEVELS.join(", ")}.`,
  };
}

/** A part begins on a new line, so that a reply may speak of the tag. A text that was cut has no end of it. */
const THOUGHTS = /^[ \t]*<think>[^]*?(?:<\/think>|(?![^]))/gim;
const LONE_END = /^[ \t]*<\/think>[ \t]*$/im;

/** The reply of a reasoning model without its `<think>…</think>` parts. */
export function withoutThinking(text: string): string {
  const end = LONE_END.exec(text);
  // Some chat templates write the first tag themselves, so that the text begins with the thoughts.
  const isOpen = end !== null && !/^[ \t]*<think>/im.test(text.slice(0, end.index));
  const rest = isOpen ? text.slice(end.index + end[0].length) : text;
  const reply = rest.replaceAll(THOUGHTS, "");
  return reply === text ? text : reply.trim();
}
