import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { arrive } from "../router.ts";

interface TitleProps {
  /** The heading, and the name of the browser's tab. */
  text: string;
  /** Instead of the text. */
  children?: ComponentChildren;
  isHidden?: boolean;
}

/** The heading of a screen: it has the focus after a step to it. */
export function Title({ text, children, isHidden = false }: TitleProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => arrive(heading.current, text), [text]);
  return (
    <h1 ref={heading} tabIndex={-1} class={isHidden ? "hidden" : undefined}>
      {children ?? text}
    </h1>
  );
}
