import { toCommand } from "../shared/text/command.ts";
import { toVisible } from "../boundary/visible.ts";
import type { ChannelDriver } from "../ports/channel.ts";
import type { NewApproval } from "../journal/journal.ts";

/** A question, with the mapping of the event, or its hook. */
export interface Question extends Pick<
  NewApproval,
  "kind" | "code" | "call" | "arguments" | "mapping" | "startedBy" | "sources" | "earlier"
> {
  reply?: { channel: string; to?: string; text: string };
  /** When nobody can answer any more, in milliseconds since the epoch. */
  endsAt?: number;
  /** Somebody may answer it by a message. */
  takesMessages?: boolean;
  /** The address of the operator's page that shows it. */
  link?: string;
}

export interface QuestionText {
  /** Markdown for one message. */
  text: string;
  /** False: no message can answer it, because it does not show everything or asks for an outcome. */
  canAnswer: boolean;
}

type Channel = Pick<ChannelDriver, "limit" | "measure" | "measureMarkdown">;

/**
 * The message that asks a person. Texts of a model or an event are in blocks of code only, with each hidden or confusable
 * character written as its number. If that does not fit into one message of the channel, it is left out.
 */
export async function toQuestionText(question: Question, channel: Channel): Promise<QuestionText> {
  const whole = join(toTitle(question), toQuotes(question), toAbout(question), toAnswers(question));
  if ((await measure(whole, channel)) <= channel.limit) return { text: whole, canAnswer: question.kind !== "outcome" };
  const { link, code } = question;
  const where =
    link === undefined
      ? `\`${toCommand("approvals show", code)}\``
      : `${link} or \`${toCommand("approvals show", code)}\``;
  const note = `What it is about does not fit into one message. See it and answer it here only: ${where}`;
  return { text: join(toTitle(question), [note], toAbout(question), []), canAnswer: false };
}

function join(...parts: string[][]): string {
  return parts
    .map((lines) => lines.join("\n"))
    .filter(Boolean)
    .join("\n\n");
}

async function measure(text: string, { measure: measureText, measureMarkdown }: Channel): Promise<number> {
  return measureMarkdown ? measureMarkdown(text) : (measureText?.(text) ?? text.length);
}

function toTitle({ kind, code, call = "" }: Question): string[] {
  const name = toCode(call);
  if (kind === "reply") return [`**Approval ${code}**: deliver this reply to a place that others can see?`];
  if (kind === "outcome")
    return [`**Approval ${code}**: the call ${name} was sent, and nobody knows whether it was executed.`];
  return [`**Approval ${code}**: send the call ${name}?`];
}

function toQuotes({ arguments: args, reply }: Question): string[] {
  if (!reply) return [toBlock("json", toVisibleJson(args ?? {}))];
  const { text, ...place } = reply;
  return [toBlock("json", toVisibleJson(place)), toBlock("text", QUESTION_RULES.show(text))];
}

function toAbout({ mapping, startedBy, sources, earlier = [] }: Question): string[] {
  const list = (names: readonly string[]): string => names.map(toCode).join(", ");
  return [
    `Mapping: ${toCode(mapping)}`,
    ...(startedBy ? [`Started by ${toPlain(startedBy)}`] : []),
    ...(sources.length > 0 ? [`The agent has read private text from: ${list(sources)}`] : []),
    ...(earlier.length > 0 ? [`This event was replayed. It has already led to: ${list(earlier)}`] : []),
  ];
}

function toAnswers({ kind, code, endsAt, takesMessages, link }: Question): string[] {
  const until =
    endsAt === undefined ? "" : ` until ${new Date(endsAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const page = link === undefined ? [] : [`On the page: ${link}`];
  if (kind === "outcome") return [`Say what became of it: \`${toCommand("approvals settle", code)}\``, ...page];
  const answer = takesMessages
    ? `\`approve ${code}\` or \`deny ${code} because …\``
    : `\`${toCommand("approvals approve", code)}\` or \`${toCommand("approvals deny", code)}\``;
  return [`Answer${until} with ${answer}`, ...page];
}

/** The tests of injections replace them. */
export const QUESTION_RULES = { show: toVisible };

/** JSON with indentation. Characters that it escapes with four digits are written like the others. */
function toVisibleJson(value: unknown): string {
  const json = JSON.stringify(value, undefined, 2);
  const escapes = json.replaceAll(/\\(?:u([\da-f]{4})|.)/g, (found, hex?: string) =>
    hex === undefined ? found : `\\u{${Number.parseInt(hex, 16).toString(16)}}`,
  );
  return QUESTION_RULES.show(escapes);
}

/** No channel ends a block of code at fewer than three marks. */
function toBlock(language: string, code: string): string {
  return `\`\`\`${language}\n${code.replaceAll(/`{3,}/g, (marks) => "\\u{60}".repeat(marks.length))}\n\`\`\``;
}

/** A name that somebody chose, on one line and without marks that a channel reads. */
function toPlain(name: string): string {
  return toVisible(name).replaceAll(/[^\p{L}\p{N} @.,:+/(){}_-]/gu, "?");
}

/** A name that the operator knows, on one line. */
function toCode(name: string): string {
  return `\`${toVisible(name).replaceAll(/[`\n\t]/g, " ")}\``;
}
