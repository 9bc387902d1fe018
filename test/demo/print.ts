import { styleText } from "node:util";

export function print(text: string): void {
  console.log(text);
}

export function printTitle(text: string): void {
  print(`\n${styleText("bold", text)}`);
}

/** A labeled block; further lines are indented. */
export function printField(label: string, text: string): void {
  const [first = "", ...rest] = text.trimEnd().split("\n");
  print(`  ${styleText("dim", label.padEnd(9))} ${first}`);
  for (const line of rest) print(`  ${" ".repeat(9)} ${line}`);
}

/** The lines in which two texts of the same length differ. */
export function printChange(before: string, after: string): void {
  const changed = after.split("\n");
  for (const [index, line] of before.split("\n").entries()) {
    if (line === changed[index]) continue;
    print(styleText("red", `  - ${line}`));
    print(styleText("green", `  + ${changed[index]}`));
  }
}
