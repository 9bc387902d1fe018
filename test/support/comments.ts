/** The text of a comment without the hidden mark. */
export function withoutMark(comment: string): string {
  return comment
    .replace(/\n\n(?:<!-- hookline:\S+ -->|\[hookline:\S+\]: #)$/, "")
    .replace(/^\u2063{2}(?:[\u200B-\u200D\u2060]{32}){1,2}/, "");
}

/** The text that a reader sees of a comment: without the hidden mark, and without the marks that make it neutral. */
export function shownText(comment: string): string {
  return withoutMark(comment).replaceAll("\u200B", "").replaceAll("&lt;", "<");
}
