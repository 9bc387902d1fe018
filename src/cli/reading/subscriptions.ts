import type { Command } from "commander";
import type { OperatorAnswers } from "../../operator/views.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { addListOptions, addServiceOptions, type ListFlags, toCount } from "../command.ts";
import { formatTable } from "../format.ts";
import type { CliIo } from "../io.ts";
import { addAnswer } from "../operator-client.ts";

type Subscription = OperatorAnswers["GET /api/subscriptions/:id"];

export function addSubscriptions(program: Command, io: CliIo): void {
  const subscriptions = program.command("subscriptions").description("Show and end the subscriptions of agents.");
  addAnswer(
    addListOptions(subscriptions.command("list").description("List subscriptions.")),
    io,
    async (client, { limit }: ListFlags) => (await client.call("GET /api/subscriptions")).subscriptions.slice(0, limit),
    formatSubscriptions,
  );
  const add = (name: string, description: string): Command =>
    addServiceOptions(subscriptions.command(name).description(description)).argument(
      "<id>",
      "id of the subscription, as `subscriptions list` shows it",
    );
  addAnswer(
    add("show", "Show one subscription, and what was given up, newest first.")
      .option("--limit <number>", "at most this many that were given up", toCount, 100)
      .option("--before <position>", "only those before the one with this position", toCount),
    io,
    (client, { limit, before }: ListFlags & { before?: number }, id) =>
      client.call("GET /api/subscriptions/:id", { id, limit, before }),
    formatSubscription,
  );
  addAnswer(
    add("end", "End a subscription, and tell its subscriber."),
    io,
    (client, _, id) => client.call("DELETE /api/subscriptions/:id", { id }),
    ({ id }) => [`${id}  ended`],
  );
  addAnswer(
    addListOptions(subscriptions.command("requests").description("List what principals asked the endpoint for.")),
    io,
    async (client, { limit }: ListFlags) => (await client.call("GET /api/mcp-requests", { limit })).requests,
    formatRequests,
  );
}

function formatRequests(requests: OperatorAnswers["GET /api/mcp-requests"]["requests"]): string[] {
  const rows = requests.map(({ at, principal, client, method, event, outcome }) => ({
    at,
    principal,
    client,
    method,
    event,
    outcome,
  }));
  return formatTable(rows, "Nobody has asked yet.");
}

function formatSubscriptions(subscriptions: OperatorAnswers["GET /api/subscriptions"]["subscriptions"]): string[] {
  const rows = subscriptions.map(({ id, principal, event, arguments: filter, state, behind, url: callback }) => ({
    id,
    principal,
    event,
    arguments: JSON.stringify(filter),
    state,
    behind,
    callback,
  }));
  return formatTable(rows, "No agent has subscribed.");
}

function formatSubscription({ abandoned, ...row }: Subscription): string[] {
  const fields = Object.entries(row).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [`${name}: ${toPrintable(typeof value === "object" ? JSON.stringify(value) : String(value))}`],
  );
  const given = abandoned.map(({ id, position, reason, at }) => ({ "given up": id, position, why: reason, at }));
  return [...fields, "", ...formatTable(given, "No event was given up.")];
}
