import { UNFINISHED_WORDS } from "../../../core/shared/words.ts";
import { QUESTION_HOLDS } from "../../../core/types.ts";
import { call, type RunView, type Timeline } from "../api-client.ts";
import { goTo } from "../router.ts";
import { ask, confirmed } from "./ask.tsx";
import { notifyOf } from "./controls.tsx";
import { toLine } from "./format.ts";

/* Actions of a person on events and runs. Each says what will happen, and asks first. */

/** Runs it again as a new event, and goes there. Resolves to whether it did. */
export async function replay(id: string, payload?: unknown): Promise<boolean> {
  const event = await notifyOf(call("GET /api/events/:id", { id }), undefined, "Not replayed");
  if (!event) return false;
  const answers = { yes: "Replay", ...(delivers(event) && { quietly: "Replay without delivery" }) };
  const answer = await ask("Replay this request?", describeReplay(event), answers);
  if (answer === undefined) return false;
  const body = { ...(payload !== undefined && { payload }), ...(answer === "quietly" && { deliver: false }) };
  const work = call("POST /api/events/:id/replay", { id }, { body });
  const { eventId } = Object(await notifyOf(work, () => "Replayed as a new event.", "Not replayed"));
  if (typeof eventId !== "string") return false;
  goTo(["events", eventId]);
  return true;
}

const delivers = ({ deliveries, runs }: Timeline): boolean =>
  deliveries.length > 0 || runs.some(({ action }) => action?.deliver);

function describeReplay({ hook, runs, deliveries }: Timeline): string {
  const turns = runs.length === 0 ? "" : ` It has led to ${runs.length === 1 ? "a turn" : `${runs.length} turns`}`;
  const places = new Set(
    deliveries.map(({ channel, to, route }) => `${route?.channel ?? channel} ${route?.to ?? to ?? ""}`),
  );
  const sent = places.size === 0 ? "" : ` with replies to ${toLine([...places].join(", "), 120)}`;
  return `It runs again as a new event of the hook ${toLine(hook, 60)}, through today's mappings.${turns}${turns && sent}${turns && "."}`;
}

export async function cancelRun({ id, state }: Pick<RunView, "id" | "state">): Promise<void> {
  const text = `${state === "running" ? "The turn is aborted" : "The turn does not start"}: there is no reply and no delivery, and it cannot be started again. Its session goes on with the next turn.`;
  if (!(await confirmed("Cancel this turn?", text, "Cancel the turn"))) return;
  await notifyOf(call("POST /api/runs/:id/cancel", { id }), () => "The turn is canceled.", "Not canceled");
}

export async function releaseRuns(
  filter: { run?: string; session?: string; reason?: string },
  what: string,
): Promise<void> {
  const text = `${what} may start at once, whatever the budget says.`;
  if (!(await confirmed("Release?", text, "Release"))) return;
  await notifyOf(
    call("POST /api/runs/release", filter),
    ({ released }) => (released === 1 ? "One turn is released." : `${released} turns are released.`),
    "Not released",
  );
}

/** Only a person's decision frees it. */
export function isAsking({ state, holdReason }: RunView): boolean {
  return state === "held" && Object.values<string | undefined>(QUESTION_HOLDS).includes(holdReason);
}

export function isReleasable(run: RunView): boolean {
  return run.state === "held" && !isAsking(run);
}

export function isUnfinished({ state }: Pick<RunView, "state">): boolean {
  return UNFINISHED_WORDS.some((word) => word === state);
}
