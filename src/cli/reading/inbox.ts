import type { Command } from "commander";
import { INBOX_PART_NAMES, INBOX_PARTS, type InboxItem } from "../../operator/inbox/item.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { addServiceOptions } from "../command.ts";
import { type CliIo, style } from "../io.ts";
import { addAnswer } from "../operator-client.ts";
import { toBlockLines } from "./question-lines.ts";

export function addInbox(program: Command, io: CliIo): void {
  const inbox = program.command("inbox [id]").description("Show what waits for a person, or one item of it.");
  addAnswer(
    addServiceOptions(inbox),
    io,
    async (client, _, id?: string): Promise<InboxItem[] | InboxItem> =>
      id === undefined ? (await client.call("GET /api/inbox")).items : client.call("GET /api/inbox/:id*", { id }),
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

function formatRow({ id, title, subject = "", until }: InboxItem, width: number): string {
  const left = until === undefined ? "" : `${toDuration(Date.parse(until) - Date.now())} left`;
  const end = [left, id].filter(Boolean).join("  ");
  const room = Math.max(20, width - end.length - 4);
  const text = toPrintable([title, subject].filter(Boolean).join(" · "));
  const shown = text.length > room ? `${text.slice(0, room - 1)}…` : text;
  return `  ${shown.padEnd(room)}  ${style("dim", end)}`;
}

function toDuration(ms: number): string {
  const minutes = Math.max(0, Math.round(ms / 60_000));
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

function formatItem({ title, subject, since, until, ended, blocks, actions }: InboxItem, width: number): string[] {
  const times = [`since ${since}`, ...(until === undefined ? [] : [`until ${until}`])].join(", ");
  const end = ended && `${ended.word}${ended.by === undefined ? "" : ` by ${ended.by}`} at ${ended.at}`;
  return [
    style("bold", toPrintable(title)),
    ...(subject === undefined ? [] : [toPrintable(subject)]),
    style("dim", end === undefined ? times : toPrintable(`${times}; ${end}`)),
    "",
    ...toBlockLines(blocks, { width, texts: false }),
    ...actions.map(({ label, method, path }) => style("dim", toPrintable(`${label}: ${method} ${path}`))),
  ];
}
