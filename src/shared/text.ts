/** The first `maxLength` UTF-16 code units of a text, one less where the cut would split a surrogate pair. */
export function cutText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "");
}

/** The first items whose sizes add up to at most `maxSize`. */
export function takeWithin<Item>(items: Item[], maxSize: number, sizeOf: (item: Item) => number): Item[] {
  let size = 0;
  const firstOver = items.findIndex((item) => (size += sizeOf(item)) > maxSize);
  return firstOver === -1 ? items : items.slice(0, firstOver);
}
