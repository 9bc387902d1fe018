const BOUNDARY =
  /((?:SECURITY NOTICE:[^\n]*\n)?<<<EXTERNAL_UNTRUSTED_CONTENT id="([^"]+)">>>\n)([\s\S]*?)(\n<<<END_EXTERNAL_UNTRUSTED_CONTENT id="\2">>>)/g;

export interface PromptPart {
  text: string;
  /** The source of a text inside the safety boundary; undefined: the operator's own words. */
  source?: string;
}

/** Splits a prompt, as `toPrompt` writes it, at its safety boundaries. The head of each says where its text came from. */
export function toPromptParts(prompt: string): PromptPart[] {
  const parts: PromptPart[] = [];
  let end = 0;
  for (const { index, 0: whole, 3: content = "" } of prompt.matchAll(BOUNDARY)) {
    parts.push({ text: prompt.slice(end, index).trim() });
    const [, source = "", , text = content] =
      /^Source: ([^\n]*)\n((?:[A-Z]\w*: [^\n]*\n)*)---\n([\s\S]*)$/.exec(content) ?? [];
    parts.push({ text, source: source || "outside" });
    end = index + whole.length;
  }
  parts.push({ text: prompt.slice(end).trim() });
  return parts.filter(({ text, source }) => source !== undefined || text !== "");
}
