import { useEffect, useMemo, useState } from "preact/hooks";

/** Begins the key of every draft. */
const PREFIX = "draft ";

export interface Draft<Work> {
  work: Work;
  change(work: Work): void;
  isChanged: boolean;
  /** Goes back to the start. */
  discard(): void;
  /** Another one for each start: for what keeps its text itself, such as an editor. */
  origin: string;
}

/**
 * Work in progress. The tab keeps it under its key, so that it is there again after another screen, a reload or the end of the
 * sign-in. While it is on the screen, the browser asks before the tab is closed.
 */
export function useDraft<Work>(name: string, start: () => Work): Draft<Work> {
  const key = PREFIX + name;
  const begun = useMemo(() => {
    const text = sessionStorage.getItem(key);
    const kept: Work | undefined = text === null ? undefined : JSON.parse(text);
    return { start: start(), kept };
  }, [key]);
  const [latest, setLatest] = useState<{ key: string; work: Work }>();
  const [discards, setDiscards] = useState(0);
  const work = latest?.key === key ? latest.work : (begun.kept ?? begun.start);
  const isChanged = JSON.stringify(work) !== JSON.stringify(begun.start);
  useEffect(() => {
    if (!isChanged) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isChanged]);
  const change = (next: Work): void => {
    setLatest({ key, work: next });
    keep(key, JSON.stringify(next) === JSON.stringify(begun.start) ? undefined : next);
  };
  return {
    work,
    change,
    isChanged,
    discard() {
      change(begun.start);
      setDiscards(discards + 1);
    },
    origin: `${key} ${discards}`,
  };
}

/** Whether there is a draft with a name that begins with this. */
export function hasDraft(name = ""): boolean {
  return Object.keys(sessionStorage).some((key) => key.startsWith(PREFIX + name));
}

/** Someone else may use this browser next. */
export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
}

function keep(key: string, work: unknown): void {
  try {
    if (work === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(work));
  } catch {
    // There is no room left: then it lives only as long as its screen.
  }
}
