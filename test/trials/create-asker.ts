import type { ModelServer } from "../support/models.ts";
import type { Service } from "../support/service.ts";

export interface Asked {
  /** The turn's reply. */
  text: string;
  warnings: string[];
  /** What the model said. */
  said: string;
  /** All messages that the model was given last, as JSON. */
  given: string;
}

/** Fields of the agent hook. */
interface AskOptions {
  sessionKey: string;
  model?: string;
}

/**
 * Asks the agent of a service through its hook, one turn at a time, with a model that says something else each time. Rejects
 * where a turn fails.
 */
export function createAsker(
  service: Service,
  models: ModelServer,
): (message: string, options: AskOptions) => Promise<Asked> {
  let count = 0;
  return async (message, options) => {
    count += 1;
    const said = `Reply number ${count}.`;
    models.reply(said);
    const payload = { message, deliver: false, wakeMode: "next-heartbeat", ...options };
    const { body } = await service.post("agent", payload);
    const { runs } = await service.settled(body.eventId);
    const [{ state, reply, error, warnings }] = runs;
    if (state !== "done") throw new Error(`The turn "${message}" failed: ${error}`);
    return { text: reply, warnings, said, given: JSON.stringify(models.lastMessages()) };
  };
}
