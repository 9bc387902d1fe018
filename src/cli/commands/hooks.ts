import type { Command } from "commander";
import { addServiceOptions } from "../command.ts";
import type { CliIo } from "../io.ts";
import { addAnswer } from "../operator-client.ts";

export function addHooks(program: Command, io: CliIo): void {
  const hooks = program.command("hooks").description("Pause and resume the turns of a mapping.");
  addChange(hooks.command("pause").description("Accept a mapping's requests, and let its turns wait."), io, {
    endpoint: "POST /api/mappings/:id/pause",
    done: "is paused: its requests are accepted, and their turns wait",
  });
  addChange(hooks.command("resume").description("Let the turns of a paused mapping start, in their order."), io, {
    endpoint: "POST /api/mappings/:id/resume",
    done: "is resumed",
  });
}

interface Change {
  endpoint: "POST /api/mappings/:id/pause" | "POST /api/mappings/:id/resume";
  done: string;
}

function addChange(command: Command, io: CliIo, { endpoint, done }: Change): void {
  addAnswer(
    addServiceOptions(command).argument("<mapping>", "id of the mapping; that of a preset is the preset's name"),
    io,
    async (client, _, id) => ({ id: (await client.call(endpoint, { id })).id }),
    ({ id }) => [`${id} ${done}.`],
  );
}
