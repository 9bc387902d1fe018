import type { Command } from "commander";
import { INBOX_PART_NAMES, INBOX_PARTS, type InboxItem } from "../../operator/inbox/item.ts";
import { toCommand } from "../../core/shared/text/command.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { addServiceOptions } from "../command.ts";
import { toExcerpt } from "../format.ts";
import { type CliIo, style } from "../io.ts";
import { addAnswer } from "../operator-client.ts";
import { toBlockLines, toCommands } from "./question-lines.ts";

export function addInbox(program: Command, io: CliIo): void {
  const inbox = program.command("inbox [id]").description("Show what waits for a person, or one item of it.");
  addAnswer(
    addServiceOptions(inbox),
    io,
    async (client, _, id?: string): Promise<InboxItem[] | InboxItem> => {
      const items = id === undefined || !id.includes("-") ? (await client.call("GET /api/inbox")).items : [];
      if (id === undefined) return items;
      return items.find((item) => nameOf(item) === id) ?? client.call("GET /api/inbox/:id*", { id });
    },
    (answer) => (Array.isArray(answer) ? formatInbox(answer, widthOf(io)) : formatItem(answer, widthOf(io))),
  );
}

function widthOf(io: CliIo): number {
  return io.stdout.columns ?? 80;
}

/** A line for each item, below the name of its part. */
function formatInbox(items: readonly InboxItem[], width: number): string[] {
  if (items.length === 0) return ["Nothing waits for you."];
  return INBOX_PARTS.flatMap((part) => {
    const own = items.filter((item) => item.part === part);
    return own.length === 0
      ? []
      : [style("bold", INBOX_PART_NAMES[part]), ...own.map((item) => formatRow(item, width)), ""];
  }).slice(0, -1);
}

function formatRow(item: InboxItem, width: number): string {
  const { title, subject = "", until } = item;
  const left = until === undefined ? "" : `${toDuration(Date.parse(until) - Date.now())} left`;
  const end = [left, toExcerpt(nameOf(item), 40)].filter(Boolean).join("  ");
  const room = Math.max(20, width - end.length - 4);
  const text = toExcerpt([title, subject].filter(Boolean).join(" · "), room);
  return `  ${text.padEnd(room)}  ${style("dim", end)}`;
}

/** The code of a question, which is shorter than its id, and that of its commands. */
function nameOf({ id, part, actions: [action] }: InboxItem): string {
  return (part === "decide" && / code ([a-z\d]+)$/.exec(action?.label ?? "")?.[1]) || id;
}

function toDuration(ms: number): string {
  const minutes = Math.max(0, Math.round(ms / 60_000));
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

function formatItem(item: InboxItem, width: number): string[] {
  const { part, title, subject, since, until, ended, blocks, actions } = item;
  const times = [`since ${since}`, ...(until === undefined ? [] : [`until ${until}`])].join(", ");
  const end = ended && `${ended.word}${ended.by === undefined ? "" : ` by ${ended.by}`} at ${ended.at}`;
  return [
    style("bold", toExcerpt(title)),
    ...(subject === undefined ? [] : [toExcerpt(subject, 2 * width)]),
    style("dim", end === undefined ? times : toPrintable(`${times}; ${end}`)),
    "",
    ...toBlockLines(blocks, { width, texts: false }),
    "",
    ...(part === "decide" && actions.length > 0
      ? toCommands({ kind: actions.some(({ id }) => id === "done") ? "outcome" : "call", code: nameOf(item) })
      : actions.map((action) => style("dim", toPrintable(toHowTo(item, action))))),
  ];
}

/** A command that does the same as a button of the page, or else the call. */
function toHowTo(item: InboxItem, { id, label, method, path }: InboxItem["actions"][number]): string {
  const isOfLetters = item.part === "failed" && item.actions.some((action) => action.id === "retry");
  return `${label}: ${isOfLetters ? toCommand(`dead-letters ${id} --group`, item.id) : `${method} ${path}`}`;
}
