import type { ChannelDriver } from "../../ports/channel.ts";
import { toCommand } from "../../shared/text/command.ts";
import { cutText } from "../../shared/text/text.ts";
import type { Answering } from "../answering.ts";
import { toArgumentLines } from "./block-lines.ts";
import { type Block, type CardPart, listStands, type Question } from "./card.ts";

export interface ChatText {
  /** Markdown for one message. */
  text: string;
  /** False: neither a message nor a button can answer it, because it does not show everything. */
  isWhole: boolean;
}

export interface ChatOptions {
  channel: Pick<ChannelDriver, "limit" | "measure" | "measureMarkdown" | "buttons">;
  /** How people can answer it there. */
  answering: Pick<Answering, "byMessage" | "byButton">;
  /** How the question has ended. Absent: it is open. */
  end?: string;
}

/** The longest message that people read, in the channel's units. */
const MAX_LENGTH = 3000;
/** How many characters of longer arguments are shown. */
const MAX_SHOWN = 1000;

/** From the first on, each leaves out more. The title, the arguments and the answers always stay. */
const CUTS: { readonly [Name in CardPart]?: number }[] = [
  { about: 300, why: 300, sent: 200, read: Infinity },
  { about: 300, why: 300, sent: 200, read: Infinity, who: 0 },
  { about: 300, why: 300, sent: 200, read: 5, who: 0 },
  { about: 0, why: 300, sent: 200, read: 5, who: 0 },
  { about: 0, why: 300, sent: 0, read: 5, who: 0 },
  { about: 0, why: 0, sent: 0, read: 5, who: 0 },
];

/**
 * The message that asks a person. Words of an event, an agent or a tool stand in quotes and blocks of code alone, as code:
 * no service finds a link, a name or a mark in them.
 */
export async function toChatText(question: Question, options: ChatOptions): Promise<ChatText> {
  const { channel, answering, end } = options;
  const limit = Math.min(channel.limit, (answering.byButton ? channel.buttons?.limit : undefined) ?? Infinity);
  const title = toTitle(question, end);
  const answers = end === undefined ? toAnswers(question, answering) : `**${withoutMarks(end)}**`;
  const args = toArguments(question);
  const least = join([title, args, end ?? question.link ?? ""]);
  if ((await measure(least, channel)) <= Math.min(limit, MAX_LENGTH)) {
    for (const cut of CUTS) {
      const text = join([title, toAbout(question, cut), args, toAround(question, cut, end), answers]);
      if ((await measure(text, channel)) <= limit) return { text, isWhole: true };
    }
  }
  return { text: await toShort(question, { channel, end, limit }), isWhole: false };
}

/** The start of arguments that are too long for a message. */
async function toShort(
  question: Question,
  { channel, end, limit }: Pick<ChatOptions, "channel" | "end"> & { limit: number },
): Promise<string> {
  const { link, code } = question;
  const whole = toArgumentText(question);
  const command = `\`${toCommand("approvals show", code)}\``;
  for (let length = MAX_SHOWN; ; length = Math.floor(length / 2)) {
    const shown = cutText(whole, length);
    const how = `It does not fit into one message: ${whole.length - shown.length} characters more. See all of it and answer it here only: ${link === undefined ? command : `${link} or ${command}`}`;
    const note = end === undefined ? how : `**${withoutMarks(end)}**`;
    const text = join([toTitle(question, end), shown === "" ? "" : toFence(shown), note]);
    if (shown === "" || (await measure(text, channel)) <= limit) return text;
  }
}

function join(parts: readonly string[]): string {
  return parts.filter(Boolean).join("\n\n");
}

async function measure(
  text: string,
  { measure: measureText, measureMarkdown }: ChatOptions["channel"],
): Promise<number> {
  return measureMarkdown ? measureMarkdown(text) : (measureText?.(text) ?? text.length);
}

function toTitle({ title, names, code, until }: Question, ended?: string): string {
  let [rest, marked] = [title, ""];
  for (const name of names) {
    const at = rest.indexOf(name);
    marked += rest.slice(0, at) + toCode(name);
    rest = rest.slice(at + name.length);
  }
  const end = until === undefined || ended !== undefined ? "" : `, until ${until.slice(0, 16).replace("T", " ")} UTC`;
  return `**${marked}${rest}** code \`${code}\`${end}`;
}

type Cut = (typeof CUTS)[number];

/** The parts before the arguments. */
function toAbout({ blocks }: Question, cut: Cut): string {
  const shown = blocks.filter(({ part }) => (part === "about" || part === "why") && cut[part] !== 0);
  const sent = cut.sent ? blocks.filter(({ part, kind }) => part === "sent" && kind === "facts") : [];
  return join([...shown, ...sent].map((block) => toPart(block, cut[block.part] ?? Infinity)));
}

/** The parts after the arguments. */
function toAround({ blocks }: Question, cut: Cut, end?: string): string {
  const parts = end === undefined ? ["before", "follows", "who"] : ["before", "who"];
  const notes = blocks.filter(({ part }) => parts.includes(part) && cut[part] !== 0);
  return join([toReads(blocks, cut.read ?? 0), ...notes.map((block) => toPart(block, Infinity))]);
}

function toReads(blocks: readonly Block[], max: number): string {
  const names = blocks.flatMap((block) => (block.part === "read" && block.kind === "quote" ? [toReadName(block)] : []));
  const more = names.length > max ? `, and ${names.length - max} more` : "";
  return names.length === 0 ? "" : `It read: ${names.slice(0, max).join(", ")}${more}`;
}

function toReadName({ by, isPrivate }: Extract<Block, { kind: "quote" }>): string {
  return `${toCode(cutText(by, 80))}${isPrivate ? " (private)" : ""}`;
}

/** `max`: how many characters of a text are shown. */
function toPart(block: Block, max: number): string {
  if (block.kind === "note") return block.text;
  if (block.kind === "quote") return toQuote(block.by, cutText(block.text, max));
  if (block.kind !== "facts") return "";
  const rows = block.rows.map(({ name, value }) =>
    [...(name ? [`${name}:`] : []), toCode(cutText(value, max))].join(" "),
  );
  return block.from === "service" ? rows.join(" · ") : rows.map((row) => `> ${row}`).join("\n");
}

/** Its lines, each as code: a blank line would end the quote. */
function toQuote(by: string, text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return [`> *${withoutMarks(by)}:*`, ...lines.map((line) => `> ${toCode(line)}`)].join("\n");
}

function withoutMarks(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N} ,./:-]/gu, "?");
}

function toArguments(question: Question): string {
  return toFence(toArgumentText(question));
}

function toArgumentText({ blocks }: Question): string {
  const parts = blocks.filter(({ part }) => part === "sent").map((block) => toArgumentLines(block, writeStands));
  return parts.flatMap((lines) => (lines ? [lines.join("\n")] : [])).join("\n\n");
}

function writeStands(stands: readonly string[]): string {
  if (stands[0] === "nowhere") return "NOWHERE";
  return stands[0] === "fixed" ? "fixed" : listStands(stands);
}

function toAnswers({ kind, code, link }: Question, { byMessage, byButton }: ChatOptions["answering"]): string {
  const page = link === undefined ? [] : [`On the page: ${link}`];
  const press = byButton ? ["press a button"] : [];
  if (kind === "outcome")
    return [
      `Say what became of it: ${[...press, `\`${toCommand("approvals settle", code)}\``].join(", or ")}`,
      ...page,
    ].join("\n");
  const typed = byMessage ? [`answer with \`approve ${code}\` or \`deny ${code} because …\``] : [];
  const commands = `answer with \`${toCommand("approvals approve", code)}\` or \`${toCommand("approvals deny", code)}\``;
  const ways = [...press, ...typed];
  const text = (ways.length > 0 ? ways : [commands]).join(", or ");
  return [`${text.charAt(0).toUpperCase()}${text.slice(1)}`, ...page].join("\n");
}

/**
 * No channel ends a block of code at fewer than three marks. Some have no blocks of code: the bar shows where outside text
 * begins and ends.
 */
function toFence(code: string): string {
  const shown = code.replaceAll(/`{3,}/g, (marks) => "\\u{60}".repeat(marks.length));
  return `\`\`\`text\n${shown.replaceAll(/^/gm, "│ ")}\n\`\`\``;
}

/** On one line, as code. */
function toCode(name: string): string {
  return `\`${name.replaceAll(/[`\n\t]/g, " ")}\``;
}
