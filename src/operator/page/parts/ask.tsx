import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Question {
  title: string;
  /** The consequence of each answer. */
  text: ComponentChildren;
  /** The words on the buttons, each with what it answers. The first is the usual one. */
  answers: Record<string, string>;
  resolve(answer: string | undefined): void;
}

const question = signal<Question | undefined>(undefined);

/** Asks before something happens. Resolves to the answer, or undefined if it must not happen. */
export function ask(
  title: string,
  text: ComponentChildren,
  answers: Record<string, string>,
): Promise<string | undefined> {
  question.value?.resolve(undefined);
  return new Promise((resolve) => (question.value = { title, text, answers, resolve }));
}

/** The same with one answer. */
export async function confirmed(title: string, text: ComponentChildren, yes: string): Promise<boolean> {
  return (await ask(title, text, { yes })) === "yes";
}

export function Asking(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const asked = question.value;
  useEffect(() => {
    if (asked) dialog.current?.showModal();
    else dialog.current?.close();
  }, [asked]);
  const answer = (value: string | undefined): void => {
    asked?.resolve(value);
    question.value = undefined;
  };
  return (
    <dialog ref={dialog} aria-labelledby="question" onClose={() => answer(undefined)}>
      {asked && (
        <>
          <h2 id="question">{asked.title}</h2>
          <div>{asked.text}</div>
          <p class="actions">
            {Object.entries(asked.answers).map(([value, words], place) => (
              <button key={value} class={place === 0 ? "main" : undefined} onClick={() => answer(value)}>
                {words}
              </button>
            ))}
            <button onClick={() => answer(undefined)}>Cancel</button>
          </p>
        </>
      )}
    </dialog>
  );
}
