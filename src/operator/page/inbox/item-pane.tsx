import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { ApprovalDetail, InboxItem } from "../api-client.ts";
import { questions } from "../live.ts";
import { Detail, State, Time } from "../parts/controls.tsx";
import { toLine } from "../parts/format.ts";
import { type Loaded, Loading, useCall } from "../parts/load.tsx";
import { Title } from "../parts/title.tsx";
import { Answer } from "./answer.tsx";
import { Blocks } from "./blocks.tsx";

interface CardProps {
  title: string;
  /** Below the title. */
  facts?: ComponentChildren;
  blocks?: InboxItem["blocks"];
  /** The answer, or how it was answered. */
  children?: ComponentChildren;
}

function Card({ title, facts, blocks = [], children }: CardProps): JSX.Element {
  return (
    <article class="card">
      <header>
        <Title text={title} />
        <p class="facts">{facts}</p>
      </header>
      <Blocks blocks={blocks} />
      {children}
    </article>
  );
}

/** An item that is no question: what is known of it, and what can be done. What is over stays as it was last seen. */
export function ItemPane({ id, from }: { id: string; from: Loaded<{ items: InboxItem[] }> }): JSX.Element {
  const last = useRef<InboxItem>(undefined);
  const open = from.data?.items.find((item) => item.id === id);
  last.current = open ?? last.current;
  return (
    <Loading from={from}>
      {() => {
        if (!last.current) return <Card title="This is over" facts="Nothing of it waits for a person any more." />;
        const { title, subject, since, blocks, actions } = last.current;
        const facts = (
          <>
            {subject !== undefined && <span>{toLine(subject, 300)}</span>}
            <Time at={since} before="since" />
            {!open && <b>over</b>}
          </>
        );
        return (
          <Card title={title} facts={facts} blocks={blocks}>
            {open && <Answer id={id} subject={toLine(title, 80)} choices={actions} reload={from.reload} />}
          </Card>
        );
      }}
    </Loading>
  );
}

interface QuestionProps {
  approval: ApprovalDetail;
  reload(): void;
}

/** Exactly the question of the address, in any state. */
export function QuestionPane({ id }: { id: string }): JSX.Element {
  const loaded = useCall("GET /api/approvals/:id", { id }, questions.value);
  if (loaded.status === 404) return <Card title="Answered; kept for 30 days." />;
  return <Loading from={loaded}>{(approval) => <Question approval={approval} reload={loaded.reload} />}</Loading>;
}

function Question({ approval, reload }: QuestionProps): JSX.Element {
  const { askedAt, question } = approval;
  const { title, code, state, until, blocks } = question;
  const facts = (
    <>
      <State state={state} />
      <span>
        code <code>{code}</code>
      </span>
      <Time at={askedAt} before="asked" />
      {state === "open" && until !== undefined && (
        <span>
          denied at <Time at={until} /> if nobody decides
        </span>
      )}
    </>
  );
  return (
    <Card title={title} facts={facts} blocks={blocks}>
      {state === "open" ? <Decide approval={approval} reload={reload} /> : <Ended approval={approval} />}
    </Card>
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

function Decide({ approval: { id, kind, question, call: name = "the reply" }, reload }: QuestionProps): JSX.Element {
  const [reason, setReason] = useState("");
  const [result, setResult] = useState("");
  const choices = question.answers.map(({ decision, label, from }) => ({
    id: decision,
    label,
    word: WORDS[decision],
    isEarly: from !== undefined && Date.parse(from) > Date.now(),
    method: "POST",
    path: `/api/approvals/${id}`,
    body: { decision, reason: reason || undefined, result: (decision === "done" && result) || undefined },
  }));
  return (
    <Answer id={id} subject={`${name}, code ${question.code}`} name={name} choices={choices} reload={reload}>
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
