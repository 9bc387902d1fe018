import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { arrive } from "../router.ts";

/** The heading of a screen, and the name of the browser's tab: it has the focus after a step to it. */
export function Title({ text, children }: { text: string; children?: ComponentChildren }): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => arrive(heading.current, text), [text]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children ?? text}
    </h1>
  );
}
