import type { Command } from "commander";
import { ConfigError } from "../../core/errors.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { addServiceOptions, createSince, type ServiceFlags, toOneOf } from "../command.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printError, printJson, style } from "../io.ts";
import { createOperatorClient, exportEvents } from "../operator-client.ts";
import { addValue, createShape, toDeclaration, toJsonSchema } from "../../service/authoring/shape.ts";

const PARTS = ["type", "schema"] as const;

interface InferFlags extends ServiceFlags {
  since: string;
  event?: string;
  only?: (typeof PARTS)[number];
}

export function addInfer(program: Command, io: CliIo): void {
  addServiceOptions(program.command("infer"), "print one JSON object: hook, events, names, type, schema")
    .description("Infer the type and the JSON Schema of a hook's payloads from stored events that were not refused.")
    .argument("<hook>", "name of the hook")
    .addOption(createSince("only events received since then: a duration before now, or a date", "7d"))
    .option("--event <name>", "only events of this name")
    .option("--only <part>", "print only the type, or only the schema", toOneOf(PARTS))
    .action((hook: string, flags: InferFlags) => infer(hook, flags, io));
}

const PROGRESS_EVERY = 1000;

async function infer(hook: string, flags: InferFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const names = new Map<string, number>();
  const shape = createShape();
  for await (const { status, event, request } of exportEvents(client, { hook, since: flags.since })) {
    // A body that was not stored is empty.
    if (status === "refused" || request.payload === "" || (flags.event !== undefined && event !== flags.event))
      continue;
    if (event !== undefined) names.set(event, (names.get(event) ?? 0) + 1);
    addValue(shape, request.payload);
    if (shape.values % PROGRESS_EVERY === 0) printError(io, style("dim", `${shape.values} events read`));
  }
  const events = shape.values;
  if (events === 0) {
    const which = flags.event === undefined ? hook : `${hook} named ${flags.event}`;
    const message = `There are no stored events of ${which} since ${flags.since}: set --since, or post one with \`npx hookline send\`.`;
    throw new ConfigError([{ message }]);
  }
  const type = toDeclaration("Payload", shape);
  const schema = { $schema: "http://json-schema.org/draft-07/schema#", ...toJsonSchema(shape) };
  if (flags.json) return printJson(io, { hook, events, names: Object.fromEntries(names), type, schema });
  const counts = [...names].map(([name, count]) => `${toPrintable(name)} ${count}`).join(", ");
  if (!flags.only)
    print(io, `// ${formatCount(events, "event")} of ${toPrintable(hook)}${counts === "" ? "" : `: ${counts}`}`);
  if (flags.only !== "schema") print(io, toPrintable(type));
  if (flags.only !== "type") print(io, ...(flags.only ? [] : [""]), toPrintable(JSON.stringify(schema, undefined, 2)));
  if (names.size > 1) printError(io, style("dim", "--event <name> infers from events of one name."));
}
