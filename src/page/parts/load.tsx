import { type ComponentChildren, Fragment, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { changes } from "../live.ts";
import { toVisible } from "./text.ts";

export interface Loaded<Data> {
  data?: Data;
  error?: string;
  reload(): void;
}

/** How often a list is read again while the stream reports changes. */
const REFRESH_MS = 1000;

/** Loads data when `key` changes, and again as `revision` does: by default, after changes that the stream reports. */
export function useLoad<Data>(key: string, load: () => Promise<Data>, revision = changes.value): Loaded<Data> {
  const [state, setState] = useState<{ key: string; data?: Data; error?: string }>({ key });
  const [turn, setTurn] = useState(0);
  const loadedAt = useRef(0);
  const latest = useRef(key);
  latest.current = key;
  useEffect(() => {
    const isFirst = state.key !== key || (state.data === undefined && state.error === undefined);
    const timer = setTimeout(
      () => {
        loadedAt.current = Date.now();
        load().then(
          (data) => latest.current === key && setState({ key, data }),
          (error: unknown) => {
            const message = error instanceof Error ? error.message : String(error);
            if (latest.current === key) setState((before) => ({ key, data: before.data, error: message }));
          },
        );
      },
      isFirst ? 0 : Math.max(0, REFRESH_MS - (Date.now() - loadedAt.current)),
    );
    return () => clearTimeout(timer);
  }, [key, turn, revision]);
  return {
    ...(state.key === key ? state : {}),
    reload() {
      loadedAt.current = 0;
      setTurn((before) => before + 1);
    },
  };
}

/** Shows what was loaded, the error, or that it is loading. */
export function Loading<Data>({
  from: { data, error },
  children,
}: {
  from: Loaded<Data>;
  children(data: Data): ComponentChildren;
}): JSX.Element {
  return (
    <Fragment>
      {error !== undefined && (
        <p class="problem" role="alert">
          {toVisible(error)}
        </p>
      )}
      {data === undefined ? error === undefined && <p class="quiet loading">Loading…</p> : children(data)}
    </Fragment>
  );
}
