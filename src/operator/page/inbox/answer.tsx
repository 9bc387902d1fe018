import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { act, type Action } from "../api-client.ts";
import { notify } from "../parts/controls.tsx";
import { messageOf } from "../parts/format.ts";
import { later, pending, undo } from "../parts/undo.ts";

interface Choice extends Action {
  id: string;
  label: string;
  /** The word once it is pressed. Default: the label. */
  word?: string;
  /** Not possible yet. */
  isEarly?: boolean;
}

interface AnswerProps {
  /** The item’s. */
  id: string;
  /** The subject in the names of the buttons. */
  subject: string;
  /** The subject in the heading once a choice is pressed. Default: the same. */
  name?: string;
  choices: readonly Choice[];
  /** Called once it is done, or refused. */
  reload(): void;
  /** The fields above the buttons. */
  children?: ComponentChildren;
}

/** Choices that take nothing with them, or take something away. */
const DENYING = new Set(["deny", "give-up", "drop"]);

/**
 * The buttons of an item, below all that there is to read. What is pressed happens after five seconds, or when the page is left:
 * until then, nothing was said to the service. The second press of a double click meets an empty row.
 */
export function Answer(props: AnswerProps): JSX.Element | null {
  const { id, subject, name = subject, choices, reload, children } = props;
  const waiting = pending.value.get(id);
  if (choices.length === 0) return null;
  const main = choices.findLast((choice) => !DENYING.has(choice.id));
  return (
    <div class="answer" onMouseDown={(event) => keepFocus(event, waiting !== undefined)}>
      <div class="top">
        {waiting ? <Waiting id={id} word={waiting.word} at={waiting.at} subject={subject} name={name} /> : children}
      </div>
      <p class="buttons">
        {!waiting &&
          choices.map(({ id: answer, label, word = label, isEarly, ...action }) => (
            <button
              key={answer}
              class={DENYING.has(answer) ? "deny" : answer === main?.id ? "main" : undefined}
              aria-label={`${label}: ${subject}`}
              disabled={isEarly}
              onClick={() => later(id, word, (isLast) => void act(action, isLast).catch(complain).finally(reload))}
            >
              {label}
            </button>
          ))}
        {!waiting && <span class="quiet why">5 s to undo</span>}
      </p>
    </div>
  );
}

function complain(error: unknown): void {
  notify(messageOf(error), "bad");
}

function keepFocus(event: MouseEvent, isWaiting: boolean): void {
  if (isWaiting && event.target instanceof Element && !event.target.closest("button")) event.preventDefault();
}

type WaitingProps = Pick<AnswerProps, "id" | "subject"> & { word: string; at: number; name: string };

function Waiting({ id, word, at, name, subject }: WaitingProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  const [left, setLeft] = useState(secondsTo(at));
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    const timer = setInterval(() => setLeft(secondsTo(at)), 250);
    return () => clearInterval(timer);
  }, [at]);
  return (
    <div class="decided" role="status">
      <h3 ref={heading} tabIndex={-1}>
        {word}: {name} <span class="quiet">· sent in {left} s</span>
      </h3>
      <button aria-label={`Undo: ${subject}`} onClick={() => undo(id)}>
        Undo
      </button>
    </div>
  );
}

function secondsTo(at: number): number {
  return Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
