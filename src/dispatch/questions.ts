import type { TurnContext } from "../actions/agent.ts";
import { toApprovals } from "../approvals/ask.ts";
import type { DispatchContext } from "./context.ts";

/** Names what a run asks a person, by the configuration in use. */
export function createAsk({ journal, current }: DispatchContext, eventId?: string): TurnContext["ask"] {
  return async (drafts) => {
    const { config, channels } = current();
    const [event] = eventId === undefined ? [] : await journal.listEvents({ ids: [eventId], limit: 1 });
    return toApprovals(drafts, {
      journal,
      settings: config.agents.approvals,
      channels,
      mapping: event?.mapping ?? "",
      publicUrl: config.gateway.publicUrl,
    });
  };
}
