import type { Command } from "commander";
import type { OperatorAnswers } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { addListOptions, addServiceOptions } from "../command.ts";
import { formatTable } from "../format.ts";
import type { CliIo } from "../io.ts";
import { type ListFlags, type ServiceFlags, showAnswer } from "../operator-client.ts";

type Subscription = OperatorAnswers["GET /api/subscriptions/:id"];

export function addSubscriptions(program: Command, io: CliIo): void {
  const subscriptions = program.command("subscriptions").description("Show and end the subscriptions of agents.");
  addListOptions(subscriptions.command("list").description("List subscriptions.")).action((flags: ListFlags) =>
    showAnswer(
      flags,
      io,
      async (client) => (await client.call("GET /api/subscriptions")).subscriptions.slice(0, flags.limit),
      formatSubscriptions,
    ),
  );
  addServiceOptions(subscriptions.command("show").description("Show one subscription, and what was given up."))
    .argument("<id>", "id of the subscription, as `subscriptions list` shows it")
    .action((id: string, flags: ServiceFlags) =>
      showAnswer(flags, io, (client) => client.call("GET /api/subscriptions/:id", { id }), formatSubscription),
    );
  addServiceOptions(subscriptions.command("end").description("End a subscription, and tell its subscriber."))
    .argument("<id>", "id of the subscription, as `subscriptions list` shows it")
    .action((id: string, flags: ServiceFlags) =>
      showAnswer(
        flags,
        io,
        (client) => client.call("DELETE /api/subscriptions/:id", { id }),
        () => [`${id}  ended`],
      ),
    );
  addListOptions(subscriptions.command("requests").description("List what principals asked the endpoint for.")).action(
    (flags: ListFlags) =>
      showAnswer(
        flags,
        io,
        async (client) => (await client.call("GET /api/mcp-requests", { limit: flags.limit })).requests,
        (rows) =>
          formatTable(
            ["at", "principal", "client", "method", "event", "outcome"],
            rows.map(({ at, principal, client, method, event, outcome }) => [
              at,
              principal,
              client,
              method,
              event,
              outcome,
            ]),
            "Nobody has asked yet.",
          ),
      ),
  );
}

function formatSubscriptions(rows: OperatorAnswers["GET /api/subscriptions"]["subscriptions"]): string[] {
  const lines = rows.map(({ id, principal, event, arguments: filter, state, behind, url }) => [
    id,
    principal,
    event,
    JSON.stringify(filter),
    state,
    behind,
    url,
  ]);
  return formatTable(
    ["id", "principal", "event", "arguments", "state", "behind", "callback"],
    lines,
    "No agent has subscribed.",
  );
}

function formatSubscription({ abandoned, ...row }: Subscription): string[] {
  const fields = Object.entries(row).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [`${name}: ${toPrintable(typeof value === "object" ? JSON.stringify(value) : String(value))}`],
  );
  const given = abandoned.map(({ id, position, reason, at }) => [id, position, reason, at]);
  return [...fields, "", ...formatTable(["given up", "position", "why", "at"], given, "No event was given up.")];
}
