import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { toVisible } from "../../../core/boundary/visible.ts";
import { APPROVAL_STATES, type Decision } from "../../../core/types.ts";
import { type ApprovalView, call } from "../api-client.ts";
import { questions } from "../live.ts";
import { Detail, notifyOf, State, Time } from "../parts/controls.tsx";
import { toLine } from "../parts/format.ts";
import { Page, useCall } from "../parts/load.tsx";
import { StateFilter } from "../parts/table.tsx";
import { hrefTo, route } from "../router.ts";

const MAX_SHOWN = 200;

/** How many questions are open; undefined: not known yet. */
export function useOpenApprovals(): number | undefined {
  const { data } = useCall("GET /api/approvals", { state: "open", limit: MAX_SHOWN }, questions.value);
  return data?.approvals.length;
}

/**
 * Questions of agents to a person: whether a call may be sent, how one has ended, whether a reply may go to a public
 * place.
 */
export function Approvals(): JSX.Element {
  const { state = "open", id } = route.value.query;
  const query = { state: state === "all" ? undefined : state, limit: MAX_SHOWN };
  const loaded = useCall("GET /api/approvals", query);
  return (
    <Page title="Approvals" intro={<StateFilter states={APPROVAL_STATES} usual="open" />} from={loaded}>
      {({ approvals }) => {
        const shown = id === undefined ? approvals : approvals.filter((approval) => approval.id === id);
        return (
          <div class="questions">
            {shown.length === 0 && (
              <p class="empty">
                {state === "open" ? "Nobody is asked for anything." : "No question matches this filter."}
              </p>
            )}
            {shown.map((approval) => (
              <Question key={approval.id} approval={approval} reload={loaded.reload} />
            ))}
          </div>
        );
      }}
    </Page>
  );
}

const TITLES = {
  call: "May this call be sent?",
  outcome: "Was this call executed? It was sent, and its result is not known.",
  reply: "May this reply be sent to a public place? Its turn has read private sources.",
};

interface QuestionProps {
  approval: ApprovalView;
  reload(): void;
}

function Question({ approval, reload }: QuestionProps): JSX.Element {
  const { id, kind, code, state, call: name, arguments: given, mapping, hook, eventId, sources, earlier } = approval;
  return (
    <article class="panel" aria-labelledby={`question-${id}`}>
      <h2 id={`question-${id}`}>{TITLES[kind]}</h2>
      <p class="facts">
        <State state={state} />
        <span>
          code <code>{code}</code>
        </span>
        {mapping !== "" && (
          <span>
            mapping <a href={hrefTo(["mappings", mapping])}>{toLine(mapping, 60)}</a>
          </span>
        )}
        {eventId !== undefined && (
          <a data-row={id} href={hrefTo(["events", eventId])}>
            event of {toLine(hook ?? "a heartbeat", 60)}
          </a>
        )}
        <span>
          asked <Time at={approval.askedAt} />
        </span>
        {state === "open" && approval.expiresAt !== undefined && (
          <span>
            denied at <Time at={approval.expiresAt} /> if nobody decides
          </span>
        )}
      </p>
      {name !== undefined && (
        <p>
          <b>{toVisible(name)}</b> with these arguments, exactly:
        </p>
      )}
      {given !== undefined && <pre class="exact">{toVisible(JSON.stringify(given, null, 2))}</pre>}
      {approval.deliveries?.map(({ channel, to, text }, index) => (
        <div key={index}>
          <p>
            to <b>{toVisible(to === undefined ? channel : `${channel} ${JSON.stringify(to)}`)}</b>:
          </p>
          <pre class="exact">{toVisible(text)}</pre>
        </div>
      ))}
      {sources.length > 0 && <p class="warn">The model had read: {toVisible(sources.join(", "))}</p>}
      {earlier !== undefined && earlier.length > 0 && (
        <p class="warn">This event was replayed. It has led to these calls before: {toVisible(earlier.join(", "))}</p>
      )}
      {state === "open" ? <Answer approval={approval} reload={reload} /> : <Decided approval={approval} />}
    </article>
  );
}

function Decided({ approval: { decision, by, decidedAt, reason, result } }: { approval: ApprovalView }): JSX.Element {
  return (
    <>
      <p class="quiet">
        {decision ?? "ended"} {by !== undefined && `by ${toLine(by, 60)}`} <Time at={decidedAt} />
        {reason !== undefined && `: ${toLine(reason, 300)}`}
      </p>
      <Detail text={result} />
    </>
  );
}

/** The words on the button of each decision, and what became of it. */
const DECISIONS: Record<Decision, { button: string; done: string }> = {
  approve: { button: "Approve", done: "Approved." },
  deny: { button: "Deny", done: "Denied." },
  done: { button: "It was executed", done: "The turn goes on with this result." },
  again: { button: "Send it again", done: "The call is sent again." },
  "give-up": { button: "Give up", done: "The turn goes on without a result." },
};

function Answer({ approval: { id, kind, againAt }, reload }: QuestionProps): JSX.Element {
  const [reason, setReason] = useState("");
  const [result, setResult] = useState("");
  const decide = (decision: Decision): void => {
    const body = { decision, reason: reason || undefined, result: decision === "done" && result ? result : undefined };
    const work = call("POST /api/approvals/:id", { id }, { body });
    void notifyOf(work, () => DECISIONS[decision].done, "Not decided").then(reload);
  };
  const isOutcome = kind === "outcome";
  const decisions = isOutcome ? (["done", "again", "give-up"] as const) : (["approve", "deny"] as const);
  const isTooEarly = againAt !== undefined && Date.parse(againAt) > Date.now();
  return (
    <>
      {isOutcome && (
        <label>
          What the call gave, if it was executed
          <textarea rows={2} value={result} onInput={({ currentTarget }) => setResult(currentTarget.value)} />
        </label>
      )}
      <label>
        Reason, for the model
        <input value={reason} maxLength={1000} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
      </label>
      <p class="actions">
        {decisions.map((decision, place) => (
          <button
            key={decision}
            class={place === 0 ? "main" : undefined}
            disabled={decision === "again" && isTooEarly}
            onClick={() => decide(decision)}
          >
            {DECISIONS[decision].button}
          </button>
        ))}
        {isOutcome && isTooEarly && (
          <span class="quiet">
            It can be sent again from <Time at={againAt} />
          </span>
        )}
      </p>
    </>
  );
}
