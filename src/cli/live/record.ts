import { toCommand, toWord } from "../../core/shared/text/command.ts";
import type { Command } from "commander";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RecordingTimeline } from "../../operator/views.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { createFolder } from "../../core/shared/system/files.ts";
import { addServiceOptions, type ServiceFlags } from "../command.ts";
import { type CliIo, print, printJsonLine, style } from "../io.ts";
import { createOperatorClient } from "../operator-client.ts";

type RecordFlags = ServiceFlags & { to?: string };
type RecordedView = RecordingTimeline["requests"][number];

export function addRecord(program: Command, io: CliIo): void {
  addServiceOptions(program.command("record"), "print one JSON object for each request")
    .description(
      "Keep what a hook that no mapping takes is sent, to build a mapping from it: up to 20 requests in 10 minutes, of 256 KB " +
        "each. They are still refused, and are forgotten after 24 hours.",
    )
    .argument("<path>", "name of the hook, exactly")
    .option("--to <folder>", "also write each payload to a file there")
    .action((hook: string, flags: RecordFlags) => record(hook, flags, io));
}

const MAX_REQUESTS = 20;
const POLL_MS = 500;

async function record(wanted: string, flags: RecordFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const signal = io.stopSignal();
  const { id, hook, endsAt } = await client.call("POST /api/recordings", {}, { path: wanted });
  const { hooksUrl } = await client.call("GET /api/mappings");
  if (!flags.json) print(io, `Recording ${hooksUrl}/${hook} until ${endsAt}. Press Ctrl-C to stop.`);
  const files: string[] = [];
  for (let seen = 0; seen < MAX_REQUESTS;) {
    const { requests } = await client.call("GET /api/recordings/:id", { id });
    for (const request of requests.slice(seen)) {
      if (flags.json) printJsonLine(io, request);
      else print(io, ...describeRequest(request));
      if (flags.to !== undefined) files.push(...writePayload(request, path.resolve(io.cwd, flags.to), ++seen));
      else seen++;
    }
    if (signal.aborted || Date.now() > Date.parse(endsAt)) break;
    await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
  const samples = files.map((file) => ` --sample ${toWord(path.relative(io.cwd, file))}`).join("");
  if (!flags.json && samples !== "")
    print(io, "", "Build a mapping from them:", `  ${toCommand("transform new", hook)}${samples}`);
}

const MAX_SHOWN = 2000;

function describeRequest({ at, answer, size, request }: RecordedView): string[] {
  const { method, path: address, headers, contentType, payload } = request;
  const text = typeof payload === "string" ? payload : JSON.stringify(payload, undefined, 2);
  const names = Object.entries(headers).map(([name, value]) => style("dim", `  ${name}: ${toPrintable(value)}`));
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)} …` : text;
  return [
    style(
      "bold",
      `${at}  ${method} ${toPrintable(address)}  ${answer}  ${size ?? 0} bytes  ${toPrintable(contentType)}`,
    ),
    ...names,
    ...(text === "" ? [] : toPrintable(shown).split("\n")),
  ];
}

/** Only JSON, and what became JSON: forms, XML. */
function writePayload({ request: { payload } }: RecordedView, folder: string, number: number): string[] {
  if (typeof payload !== "object" || payload === null) return [];
  const file = path.join(folder, `${number}.json`);
  createFolder(folder);
  writeFileSync(file, `${JSON.stringify(payload, undefined, 2)}\n`, { mode: 0o600 });
  return [file];
}
