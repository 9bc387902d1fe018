/** What a reader sees of a comment: without the hidden mark, and without the marks that make it neutral. */
export function shownText(comment: string): string {
  return comment
    .replace(/\n\n<!-- hookline:\S+ -->$/, "")
    .replaceAll("\u200B", "")
    .replaceAll("&lt;", "<");
}
