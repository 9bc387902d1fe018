import type { Command } from "commander";
import { ConfigError } from "../../core/errors.ts";
import { readOwn } from "../../core/shared/json.ts";
import { didYouMean } from "../../core/shared/text/text.ts";
import { addServiceOptions, type ServiceFlags } from "../command.ts";
import type { CliIo } from "../io.ts";
import type { MappingView } from "../../operator/mapping-views.ts";
import { addAnswer } from "../operator-client.ts";

export function addHooks(program: Command, io: CliIo): void {
  const hooks = program.command("hooks").description("Pause and resume the turns of a mapping, or of a preset.");
  const add = (name: "pause" | "resume", description: string, done: string): Command =>
    addAnswer(
      addServiceOptions(hooks.command(name).description(description))
        .argument("<mapping>", "id of the mapping; the name of a preset stands for all its mappings")
        .option("--path <hook>", "the hook's name, if the preset is used for several"),
      io,
      async (client, { path }: ServiceFlags & { path?: string }, named: string) => {
        const { mappings } = await client.call("GET /api/mappings");
        const found = mappings.filter(({ id }) => id === named);
        const all = found.length > 0 ? found : mappings.filter(({ preset }) => preset === named);
        const wanted = path === undefined ? all : all.filter(({ match }) => readOwn(match, "path") === path);
        if (all.length > 0 && wanted.length === 0) throw refusePath(named, path);
        // One that is not in the configuration any more may still be paused.
        if (wanted.length === 0 && name === "pause") throw refuseUnknown(named, mappings);
        const ids = wanted.length > 0 ? wanted.map(({ id }) => id) : [named];
        for (const id of ids) await client.call(`POST /api/mappings/:id/${name}`, { id });
        return { id: named, mappings: ids };
      },
      ({ mappings }) => mappings.map((id) => `${id} ${done}.`),
    );
  add(
    "pause",
    "Accept a mapping's requests, and let its turns wait.",
    "is paused: its requests are accepted, and their turns wait",
  );
  add("resume", "Let the turns of a paused mapping start, in their order.", "is resumed");
}

function refusePath(named: string, path = ""): ConfigError {
  return new ConfigError([{ message: `"${named}" has no mapping with the path "${path}".` }]);
}

function refuseUnknown(named: string, mappings: MappingView[]): ConfigError {
  const known = mappings.flatMap(({ id, preset }) => [preset ?? id, id]);
  return new ConfigError([{ message: `There is no mapping "${named}"${didYouMean(named, [...new Set(known)])}` }]);
}
