import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Decision } from "../../../core/types.ts";
import { type ApprovalDetail, call } from "../api-client.ts";
import { questions } from "../live.ts";
import { Detail, notify, State, Time } from "../parts/controls.tsx";
import { messageOf, toLine } from "../parts/format.ts";
import { Loading, useCall } from "../parts/load.tsx";
import { Title } from "../parts/title.tsx";
import { hrefTo } from "../router.ts";
import { Answer } from "./answer.tsx";
import { Blocks } from "./blocks.tsx";

/** Exactly the question of the address, in any state. */
export function QuestionPane({ id }: { id: string }): JSX.Element {
  const loaded = useCall("GET /api/approvals/:id", { id }, questions.value);
  if (loaded.status === 404) {
    return (
      <article class="card">
        <Title text="Answered; kept for 30 days." />
      </article>
    );
  }
  return <Loading from={loaded}>{(approval) => <Card approval={approval} reload={loaded.reload} />}</Loading>;
}

interface CardProps {
  approval: ApprovalDetail;
  reload(): void;
}

function Card({ approval, reload }: CardProps): JSX.Element {
  const { id, question, mapping, eventId, hook } = approval;
  const { title, code, state, until, blocks } = question;
  return (
    <article class="card">
      <header>
        <Title text={title} />
        <p class="facts">
          <State state={state} />
          <span>
            code <code>{code}</code>
          </span>
          <Time at={approval.askedAt} before="asked" />
          {state === "open" && until !== undefined && (
            <span>
              denied at <Time at={until} /> if nobody decides
            </span>
          )}
          {mapping !== "" && (
            <span>
              mapping <a href={hrefTo(["mappings", mapping])}>{toLine(mapping, 60)}</a>
            </span>
          )}
          {eventId !== undefined && (
            <a href={hrefTo(["events", eventId])}>event of {toLine(hook ?? "a heartbeat", 60)}</a>
          )}
        </p>
      </header>
      <Blocks blocks={blocks} />
      {state === "open" ? <Decide key={id} approval={approval} reload={reload} /> : <Ended approval={approval} />}
    </article>
  );
}

function Ended({ approval: { decision, by, decidedAt, reason, result } }: { approval: ApprovalDetail }): JSX.Element {
  return (
    <div class="answer">
      <p>
        <Time at={decidedAt} before={[decision ?? "ended", by && `by ${toLine(by, 60)}`].filter(Boolean).join(" ")} />
        {reason !== undefined && `: ${toLine(reason, 300)}`}
      </p>
      <Detail text={result} />
    </div>
  );
}

const WORDS = { approve: "Approved", deny: "Denied", done: "Done", again: "Again", "give-up": "Given up" };

function Decide({ approval: { id, kind, question, call: name = "the reply" }, reload }: CardProps): JSX.Element {
  const [reason, setReason] = useState("");
  const [result, setResult] = useState("");
  const decide = (decision: Decision, isLast: boolean): void => {
    const body = { decision, reason: reason || undefined, result: decision === "done" && result ? result : undefined };
    void call("POST /api/approvals/:id", { id }, { body, isLast }).then(reload, (error: unknown) => {
      notify(messageOf(error), "bad");
      reload();
    });
  };
  return (
    <Answer
      id={id}
      subject={`${name}, code ${question.code}`}
      name={name}
      choices={question.answers.map(({ decision, label, from }) => ({
        id: decision,
        label,
        word: WORDS[decision],
        isEarly: from !== undefined && Date.parse(from) > Date.now(),
        act: (isLast) => decide(decision, isLast),
      }))}
    >
      {kind === "outcome" && (
        <label>
          What the call gave, if it was executed
          <textarea rows={2} value={result} onInput={({ currentTarget }) => setResult(currentTarget.value)} />
        </label>
      )}
      <label>
        Reason, for the agent (optional)
        <input value={reason} maxLength={1000} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
      </label>
    </Answer>
  );
}
