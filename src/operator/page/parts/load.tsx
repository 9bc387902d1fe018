import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { OperatorAnswers } from "../../views.ts";
import { call, type Params, statusOf } from "../api-client.ts";
import { changes } from "../live.ts";
import { escapeHidden, messageOf } from "./format.ts";
import { Title } from "./title.tsx";

export interface Loaded<Data> {
  data?: Data;
  error?: string;
  /** The status of the answer that refused it. */
  status?: number;
  reload(): void;
}

/** How often a list is read again while the stream reports changes. */
const REFRESH_MS = 1000;
/** A list does not stay on an error. */
const RETRY_MS = 5000;

/** Loads data when `key` changes, and again as `revision` does: by default, after changes that the stream reports. */
export function useLoad<Data>(key: string, load: () => Promise<Data>, revision = changes.value): Loaded<Data> {
  const [state, setState] = useState<{ key: string; data?: Data; error?: string; status?: number }>({ key });
  const [turn, setTurn] = useState(0);
  const loadedAt = useRef(0);
  const latest = useRef(key);
  const again = useRef<ReturnType<typeof setTimeout>>(undefined);
  latest.current = key;
  useEffect(() => {
    const isFirst = state.key !== key || (state.data === undefined && state.error === undefined);
    const timer = setTimeout(
      () => {
        loadedAt.current = Date.now();
        share(key, load).then(
          (data) => latest.current === key && setState({ key, data }),
          (error: unknown) => {
            if (latest.current !== key) return;
            setState((before) => ({ key, data: before.data, error: messageOf(error), status: statusOf(error) }));
            again.current = setTimeout(() => setTurn((before) => before + 1), RETRY_MS);
          },
        );
      },
      isFirst ? 0 : Math.max(0, REFRESH_MS - (Date.now() - loadedAt.current)),
    );
    return () => {
      clearTimeout(timer);
      clearTimeout(again.current);
    };
  }, [key, turn, revision]);
  return {
    ...(state.key === key ? state : {}),
    reload() {
      loadedAt.current = 0;
      setTurn((before) => before + 1);
    },
  };
}

/** Loads the API's answer, again when a parameter or `revision` changes. */
export function useCall<Endpoint extends keyof OperatorAnswers>(
  endpoint: Endpoint,
  params: Params = {},
  revision?: number,
): Loaded<OperatorAnswers[Endpoint]> {
  return useLoad(`${endpoint} ${JSON.stringify(params)}`, () => call(endpoint, params), revision);
}

const inFlight = new Map<string, Promise<unknown>>();

/** Parts that load the same at the same time do so once. */
function share<Data>(key: string, load: () => Promise<Data>): Promise<Data>;
function share(key: string, load: () => Promise<unknown>): Promise<unknown> {
  const known = inFlight.get(key);
  if (known) return known;
  const work = load().finally(() => inFlight.delete(key));
  inFlight.set(key, work);
  return work;
}

interface LoadingProps<Data> {
  from: Loaded<Data>;
  children(data: Data): ComponentChildren;
}

/** Shows what was loaded, the error, or that it is loading. */
export function Loading<Data>({ from: { data, error, reload }, children }: LoadingProps<Data>): JSX.Element {
  return (
    <>
      {error !== undefined && <Failure text={error} retry={reload} />}
      {data === undefined ? error === undefined && <p class="quiet loading">Loading…</p> : children(data)}
    </>
  );
}

export function Failure({ text, retry }: { text: string; retry(): void }): JSX.Element {
  return (
    <p class="problem" role="alert">
      {escapeHidden(text)} <button onClick={retry}>Try again</button>
    </p>
  );
}

interface PageProps<Data> extends LoadingProps<Data> {
  title: string;
  /** Shown below the title, at once. */
  intro?: ComponentChildren;
}

export function Page<Data>({ title, intro, ...loading }: PageProps<Data>): JSX.Element {
  return (
    <section class="page">
      <Title text={title} />
      {intro}
      <Loading {...loading} />
    </section>
  );
}

interface Widget {
  destroy(): void;
}

/** Fills an element by a library that is loaded when the element is first shown. `update` runs then, and when `key` changes. */
export function useWidget<Made extends Widget>(
  load: () => Promise<(host: HTMLElement) => Made>,
  update: (widget: Made) => void,
  key: string,
): RefObject<HTMLDivElement | null> {
  const host = useRef<HTMLDivElement>(null);
  const widget = useRef<Made>(undefined);
  const latest = useRef(update);
  latest.current = update;
  useEffect(() => {
    let isGone = false;
    const start = async (): Promise<void> => {
      const create = await load();
      if (isGone || !host.current) return;
      widget.current = create(host.current);
      latest.current(widget.current);
    };
    void start();
    return () => {
      isGone = true;
      widget.current?.destroy();
    };
  }, []);
  useEffect(() => {
    if (widget.current) latest.current(widget.current);
  }, [key]);
  return host;
}
