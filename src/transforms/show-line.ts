const MAX_WIDTH = 160;

/** A source line with a caret under a column, both 1-based; of a long line the part around the column. */
export function showLine(text: string, line: number, column: number): string {
  const start = column > MAX_WIDTH ? column - MAX_WIDTH / 2 : 0;
  const shown = text.slice(start, start + MAX_WIDTH).replaceAll("\t", " ");
  const gutter = `  ${line} | `;
  return `${gutter}${shown}\n${" ".repeat(gutter.length - 2)}| ${" ".repeat(Math.max(0, column - 1 - start))}^`;
}
