import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer } from "../../../core/approvals/question/card.ts";
import type { Decision } from "../../../core/types.ts";
import { type ApprovalDetail, call } from "../api-client.ts";
import { questions } from "../live.ts";
import { Detail, notify, State, Time } from "../parts/controls.tsx";
import { messageOf, toLine } from "../parts/format.ts";
import { Loading, useCall } from "../parts/load.tsx";
import { Title } from "../parts/title.tsx";
import { later, pending, undo } from "../parts/undo.ts";
import { hrefTo } from "../router.ts";
import { Blocks } from "./blocks.tsx";

/** Exactly the question of the address, in any state. */
export function QuestionScreen({ id }: { id: string }): JSX.Element {
  const loaded = useCall("GET /api/approvals/:id", { id }, questions.value);
  return (
    <section class="page">
      <Loading from={loaded}>{(approval) => <Card approval={approval} reload={loaded.reload} />}</Loading>
    </section>
  );
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
          <span>
            asked <Time at={approval.askedAt} />
          </span>
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
        {decision ?? "ended"} {by !== undefined && `by ${toLine(by, 60)}`} <Time at={decidedAt} />
        {reason !== undefined && `: ${toLine(reason, 300)}`}
      </p>
      <Detail text={result} />
    </div>
  );
}

const WORDS: Record<Decision, string> = {
  approve: "Approved",
  deny: "Denied",
  done: "Done",
  again: "Again",
  "give-up": "Given up",
};

/** The answer is sent after five seconds: until then, nothing was said to the service. */
function Decide({ approval: { id, kind, question, call: name }, reload }: CardProps): JSX.Element {
  const [reason, setReason] = useState("");
  const [result, setResult] = useState("");
  const area = useRef<HTMLDivElement>(null);
  const waiting = pending.value.get(id);
  const subject = `${name ?? "the reply"}, code ${question.code}`;
  const decide = (decision: Decision): void => {
    const body = { decision, reason: reason || undefined, result: decision === "done" && result ? result : undefined };
    later(id, WORDS[decision], (isLast) => {
      const work = call("POST /api/approvals/:id", { id }, { body, isLast });
      void work.then(reload, (error: unknown) => {
        notify(messageOf(error), "bad");
        reload();
      });
    });
  };
  return (
    <div class="answer" ref={area} onMouseDown={(event) => keepFocus(event, waiting !== undefined)}>
      {waiting ? (
        <Waiting
          word={waiting.word}
          at={waiting.at}
          subject={subject}
          name={name ?? "the reply"}
          undo={() => undo(id)}
        />
      ) : (
        <div class="top">
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
        </div>
      )}
      <p class="buttons">
        {!waiting &&
          question.answers.map((answer) => (
            <Choice key={answer.decision} answer={answer} subject={subject} decide={decide} />
          ))}
      </p>
    </div>
  );
}

/** A press where the buttons were does nothing: the second one of a double click. */
function keepFocus(event: MouseEvent, isWaiting: boolean): void {
  if (isWaiting && event.target instanceof Element && !event.target.closest("button")) event.preventDefault();
}

interface ChoiceProps {
  answer: Answer;
  subject: string;
  decide(decision: Decision): void;
}

function Choice({ answer: { decision, label, from }, subject, decide }: ChoiceProps): JSX.Element {
  const isEarly = from !== undefined && Date.parse(from) > Date.now();
  const look = decision === "deny" || decision === "give-up" ? "deny" : decision === "again" ? "" : "main";
  return (
    <button class={look} aria-label={`${label}: ${subject}`} disabled={isEarly} onClick={() => decide(decision)}>
      {label}
    </button>
  );
}

interface WaitingProps {
  word: string;
  at: number;
  name: string;
  subject: string;
  undo(): void;
}

function Waiting({ word, at, name, subject, undo: takeBack }: WaitingProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  const [left, setLeft] = useState(secondsTo(at));
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    const timer = setInterval(() => setLeft(secondsTo(at)), 250);
    return () => clearInterval(timer);
  }, [at]);
  return (
    <div class="top decided" role="status">
      <h3 ref={heading} tabIndex={-1}>
        {word}: {name} <span class="quiet">· sent in {left} s</span>
      </h3>
      <button aria-label={`Undo: ${subject}`} onClick={takeBack}>
        Undo
      </button>
    </div>
  );
}

function secondsTo(at: number): number {
  return Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
