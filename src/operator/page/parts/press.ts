/** Enter twice in this time is one press, as two clicks of a mouse are a double click for the browser. */
const ONE_PRESS_MS = 400;

/** The second press of a double click, Enter that is held, and Enter twice do nothing more, wherever they land. */
export function pressOnce(): void {
  let enteredAt = -Infinity;
  const guard = (event: MouseEvent | KeyboardEvent): void => {
    const [target] = event.composedPath();
    const isEnter = event instanceof KeyboardEvent && event.key === "Enter";
    const isAgain = isEnter ? event.repeat || event.timeStamp - enteredAt < ONE_PRESS_MS : event.detail > 1;
    if (event instanceof KeyboardEvent) enteredAt = isEnter ? event.timeStamp : -Infinity;
    if (!isAgain || !(target instanceof Element) || !target.closest("a, button, form input")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("click", guard, true);
  document.addEventListener("keydown", guard, true);
}
