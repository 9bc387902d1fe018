import type { Command } from "commander";
import { addServiceOptions } from "../command.ts";
import type { CliIo } from "../io.ts";
import { addAnswer } from "../operator-client.ts";

export function addHooks(program: Command, io: CliIo): void {
  const hooks = program.command("hooks").description("Pause and resume the turns of a mapping.");
  const add = (name: "pause" | "resume", description: string, done: string): Command =>
    addAnswer(
      addServiceOptions(hooks.command(name).description(description)).argument(
        "<mapping>",
        "id of the mapping; that of a preset is the preset's name",
      ),
      io,
      async (client, _, id) => ({ id: (await client.call(`POST /api/mappings/:id/${name}`, { id })).id }),
      ({ id }) => [`${id} ${done}.`],
    );
  add(
    "pause",
    "Accept a mapping's requests, and let its turns wait.",
    "is paused: its requests are accepted, and their turns wait",
  );
  add("resume", "Let the turns of a paused mapping start, in their order.", "is resumed");
}
