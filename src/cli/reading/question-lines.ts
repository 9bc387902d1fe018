import { toArgumentLines } from "../../core/approvals/question/block-lines.ts";
import {
  type Block,
  describeStands,
  type Fact,
  PART_NAMES,
  type Question,
} from "../../core/approvals/question/card.ts";
import { toCommand } from "../../core/shared/text/command.ts";
import { style } from "../io.ts";

const LABEL_WIDTH = 14;
/** In front of each line from outside. */
const BAR = "│ ";

export interface LinesOptions {
  /** Columns of the terminal. */
  width: number;
  /** Shows the texts that were read, too. */
  texts: boolean;
}

/** A question for a terminal: the title, a label for each part, and at last the commands that decide it. */
export function toQuestionLines(question: Question, options: LinesOptions): string[] {
  const { title, code, until, blocks, state, answers } = question;
  const end =
    answers.length === 0
      ? state
      : until === undefined
        ? code
        : `${code}, until ${until.slice(0, 16).replace("T", " ")} UTC`;
  const head = wrap(title, options.width).map((line) => style("bold", line));
  return [
    ...head,
    style("dim", end),
    "",
    ...toBlockLines(blocks, options),
    ...(answers.length === 0 ? [] : ["", ...toCommands(question).map((command) => `  ${command}`)]),
  ];
}

/** Blocks, with a label for each part. */
export function toBlockLines(blocks: readonly Block[], options: LinesOptions): string[] {
  const lastRead = options.texts ? undefined : blocks.findLast(({ part }) => part === "read");
  return blocks.flatMap((block, at) => {
    const label = blocks[at - 1]?.part === block.part ? "" : PART_NAMES[block.part];
    const note = block === lastRead ? [style("dim", "(the texts: --texts)")] : [];
    const lines = [...toPart(block, options), ...note];
    return lines.map((line, row) => `${(row === 0 ? label : "").padEnd(LABEL_WIDTH)}${line}`.trimEnd());
  });
}

function toPart(block: Block, { width, texts }: LinesOptions): string[] {
  const room = Math.max(20, width - LABEL_WIDTH);
  const isOutside = block.from === "event" || block.from === "agent" || block.from === "tool";
  const quote = (lines: readonly string[]): string[] => {
    const shown = lines.flatMap((line) => line.split("\n")).flatMap((line) => wrap(line, room - BAR.length));
    return isOutside ? shown.map((line) => style("dim", BAR) + line) : shown;
  };
  if (block.kind === "quote") return toQuote(block, quote, texts);
  if (block.kind === "facts") return quote(block.rows.map(toFactLine));
  if (block.kind === "note") return wrap(block.text, room);
  return quote(toArgumentLines(block, describeStands) ?? []);
}

/** `Event: 0197…`. What is only a link of the page has its place: `Show all: #/activity?status=failed`. */
function toFactLine({ name, value, place = "" }: Fact): string {
  if (name === undefined && place !== "") return `${value}: #/${place}`;
  return name === undefined ? value : `${name}: ${value}`;
}

function toQuote(
  { part, by, arguments: given, text, more, isPrivate }: Extract<Block, { kind: "quote" }>,
  quote: (lines: readonly string[]) => string[],
  texts: boolean,
): string[] {
  const size = text.length + (more ?? 0);
  if (part === "read") {
    const facts = [...(isPrivate ? ["private"] : []), `${size} characters`].join(", ");
    return [
      ...quote([`${[by, given].filter(Boolean).join(" ")}  (${facts})`]),
      ...(texts ? quote(text.split("\n")) : []),
    ];
  }
  return [
    by,
    ...quote(text.split("\n").filter((line) => line.trim() !== "")),
    ...(more ? [style("dim", `${more} characters more`)] : []),
  ];
}

/** The commands that decide it. */
export function toCommands({ kind, code }: Pick<Question, "kind" | "code">): string[] {
  if (kind === "outcome")
    return ["--done", "--again", "--give-up"].map((flag) => `${toCommand("approvals settle", code)} ${flag}`);
  return [toCommand("approvals approve", code), `${toCommand("approvals deny", code)} --reason "…"`];
}

/** Between words where there are some. Nothing is left out. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    const end = space > width / 2 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end === space ? end + 1 : end);
  }
  return [...lines, rest];
}
