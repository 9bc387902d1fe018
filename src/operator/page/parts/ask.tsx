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

interface DialogProps {
  title: string;
  isOpen: boolean;
  close(): void;
  children: ComponentChildren;
}

export function Dialog({ title, isOpen, close, children }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-label={title} onClose={close}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

export function Asking(): JSX.Element {
  const asked = question.value;
  const answer = (value: string | undefined): void => {
    asked?.resolve(value);
    question.value = undefined;
  };
  return (
    <Dialog title={asked?.title ?? ""} isOpen={asked !== undefined} close={() => answer(undefined)}>
      <div>{asked?.text}</div>
      <p class="actions">
        {Object.entries(asked?.answers ?? {}).map(([value, words], place) => (
          <button key={value} class={place === 0 ? "main" : undefined} onClick={() => answer(value)}>
            {words}
          </button>
        ))}
        <button onClick={() => answer(undefined)}>Cancel</button>
      </p>
    </Dialog>
  );
}
