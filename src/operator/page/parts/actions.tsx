import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { UNFINISHED_WORDS } from "../../../core/shared/words.ts";
import { QUESTION_HOLDS } from "../../../core/types.ts";
import { call, type OperatorAnswers, type RunView, type Timeline } from "../api-client.ts";
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
  const { eventId } = Object(await notifyOf(work, "Replayed as a new event.", "Not replayed"));
  if (typeof eventId !== "string") return false;
  goTo(["events", eventId]);
  return true;
}

const delivers = ({ deliveries, runs }: Timeline): boolean =>
  deliveries.length > 0 || runs.some(({ action }) => action?.deliver);

const describeReplay = ({ hook, outcome }: Timeline): string =>
  `It runs again as a new event of the hook ${toLine(hook, 60)}, through today's mappings. So far: ${toLine(outcome, 200)}`;

interface ActionRow {
  call: keyof OperatorAnswers;
  /** Said once it is done. */
  done: string;
  /** A person is asked first: the consequence. */
  asks?: string;
}

/** Everything that can be done about one thing, by the word on its button. */
const ACTIONS = {
  Retry: { call: "POST /api/dead-letters/:id/retry", done: "It runs again." },
  Release: {
    call: "POST /api/runs/release",
    done: "One turn is released.",
    asks: "It may start at once, whatever the budget says.",
  },
  Cancel: {
    call: "POST /api/runs/:id/cancel",
    done: "The turn is canceled.",
    asks: "There is no reply and no delivery, and it cannot be started again. Its session goes on with the next turn.",
  },
  Pause: {
    call: "POST /api/mappings/:id/pause",
    done: "It is paused.",
    asks: "Requests are accepted and answered as before. Their turns wait until you resume it, and so do later turns of the same sessions.",
  },
  Resume: { call: "POST /api/mappings/:id/resume", done: "Its turns start in their order." },
  "Run now": { call: "POST /api/mappings/:id/run", done: "Its event is accepted." },
  End: {
    call: "DELETE /api/subscriptions/:id",
    done: "Ended.",
    asks: "Its subscriber gets a last message. It can subscribe again.",
  },
  Delete: { call: "DELETE /api/recordings/:id", done: "Deleted." },
} satisfies Record<string, ActionRow>;

interface ActProps {
  name: keyof typeof ACTIONS;
  id: string;
  /** Its object, in words. */
  of: string;
  then?(): void;
}

/** A button that does one thing, and meanwhile nothing else. */
export function Act({ name, id, of, then }: ActProps): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const { call: endpoint, done, asks }: ActionRow = ACTIONS[name];
  const whole = `${name} ${of}`;
  const act = async (): Promise<void> => {
    if (asks !== undefined && !(await confirmed(`${whole}?`, asks, whole))) return;
    setBusy(true);
    await notifyOf(call(endpoint, endpoint.includes(":id") ? { id } : { run: id }), done, `Not done: ${whole}`);
    setBusy(false);
    then?.();
  };
  return (
    <button disabled={isBusy} aria-label={whole} onClick={() => void act()}>
      {name}
    </button>
  );
}

/** The actions on a turn that has failed, or has not ended. */
export function RunActions({ run }: { run: RunView }): JSX.Element {
  const { id, state, sessionKey } = run;
  const names: ActProps["name"][] = [
    ...(state === "failed" ? (["Retry"] as const) : []),
    ...(state === "held" && !isAsking(run) ? (["Release"] as const) : []),
    ...(UNFINISHED_WORDS.some((word) => word === state) ? (["Cancel"] as const) : []),
  ];
  return (
    <span class="actions">
      {names.map((name) => (
        <Act key={name} name={name} id={id} of={`the turn of ${toLine(sessionKey, 40)}`} />
      ))}
    </span>
  );
}

/** Only a person's decision frees it. */
export function isAsking({ state, holdReason }: RunView): boolean {
  return state === "held" && Object.values<string | undefined>(QUESTION_HOLDS).includes(holdReason);
}
