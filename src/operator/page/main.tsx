import { effect, signal } from "@preact/signals";
import { type JSX, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { access, answeredAt, signIn, signOut } from "./api-client.ts";
import { Event } from "./event/event.tsx";
import { Inbox, ItemScreen, useInboxCount } from "./inbox/inbox.tsx";
import { QuestionScreen } from "./inbox/question.tsx";
import { replay } from "./parts/actions.tsx";
import { Asking } from "./parts/ask.tsx";
import { Approvals } from "./lists/approvals.tsx";
import { DeadLetters } from "./lists/dead-letters.tsx";
import { Mailboxes } from "./lists/mailboxes.tsx";
import { Mappings } from "./lists/mappings.tsx";
import { Recording, Recordings } from "./lists/recordings.tsx";
import { Refused } from "./lists/refused.tsx";
import { Deliveries, Runs } from "./lists/runs.tsx";
import { Session, Sessions } from "./lists/sessions.tsx";
import { Spend } from "./lists/spend.tsx";
import { Subscriptions } from "./lists/subscriptions.tsx";
import { connection, startLive } from "./live.ts";
import { Title } from "./parts/title.tsx";
import { hasDraft } from "./parts/draft.ts";
import { Notice, Time } from "./parts/controls.tsx";
import { escapeHidden } from "./parts/format.ts";
import { useCall } from "./parts/load.tsx";
import { Playground } from "./playground/playground.tsx";
import { Requests } from "./requests/requests.tsx";
import { goTo, hrefTo, route } from "./router.ts";

const SCREENS: { path: string; name: string; show(id?: string): JSX.Element }[] = [
  { path: "inbox", name: "Inbox", show: (id) => (id === undefined ? <Inbox /> : <ItemScreen key={id} id={id} />) },
  { path: "", name: "Requests", show: () => <Requests /> },
  { path: "playground", name: "Playground", show: () => <Playground /> },
  { path: "mappings", name: "Mappings", show: (id) => <Mappings id={id} /> },
  {
    path: "sessions",
    name: "Sessions",
    show: (id) => (id === undefined ? <Sessions /> : <Session key={id} id={id} />),
  },
  { path: "approvals", name: "Approvals", show: () => <Approvals /> },
  { path: "runs", name: "Runs", show: () => <Runs /> },
  { path: "deliveries", name: "Deliveries", show: () => <Deliveries /> },
  { path: "dead-letters", name: "Dead letters", show: () => <DeadLetters /> },
  { path: "refused", name: "Refused", show: () => <Refused /> },
  {
    path: "recordings",
    name: "Recordings",
    show: (id) => (id === undefined ? <Recordings /> : <Recording key={id} id={id} />),
  },
  { path: "subscriptions", name: "Subscriptions", show: () => <Subscriptions /> },
  { path: "mailboxes", name: "Mailboxes", show: () => <Mailboxes /> },
  { path: "spend", name: "Spend", show: () => <Spend /> },
];

function App(): JSX.Element {
  if (access.value === "closed") return <SignIn />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => skip(event)}>
        Skip to the content
      </a>
      <Navigation />
      <div class="content">
        <Outage />
        <ReloadFailure />
        <main id="main" tabIndex={-1}>
          <Screen />
        </main>
      </div>
      <Notice />
      <Asking />
      <Help />
    </>
  );
}

/** The id of a question; those of other items begin with a word. */
const UUID = /^[\da-f]{8}-[\da-f-]{27}$/;

function Screen(): JSX.Element {
  const [first = "", id] = route.value.path;
  if (first === "events" && id !== undefined) return <Event key={id} id={id} />;
  if (["inbox", "approvals"].includes(first) && id !== undefined && UUID.test(id))
    return <QuestionScreen key={id} id={id} />;
  const screen = SCREENS.find(({ path }) => path === first);
  if (screen) return screen.show(id);
  return (
    <section class="page">
      <Title text="Page not found" />
      <a href={hrefTo([])}>Requests</a>
    </section>
  );
}

function Navigation(): JSX.Element {
  const [first = ""] = route.value.path;
  const current = first === "events" ? "" : first;
  const open = useInboxCount();
  return (
    <nav aria-label="Main">
      <a class="brand" href={hrefTo([])}>
        Hookline
      </a>
      <ul>
        {SCREENS.map(({ path, name }) => (
          <li key={path}>
            <a href={hrefTo([path].filter(Boolean))} aria-current={path === current ? "page" : undefined}>
              {name}
              {path === "inbox" && open !== undefined && open > 0 && <b class="count">{open}</b>}
            </a>
          </li>
        ))}
      </ul>
      <p class={`connection ${connection.value}`} role="status">
        {connection.value}
      </p>
      <button class="quiet" onClick={askToSignOut}>
        Sign out
      </button>
    </nav>
  );
}

function askToSignOut(): void {
  if (!hasDraft() || confirm("Sign out and discard the changes that this tab keeps?")) void signOut();
}

/** While the service does not answer, every screen says from when its content is. */
function Outage(): JSX.Element | null {
  if (connection.value !== "lost") return null;
  return (
    <div class="problem banner" role="alert">
      <b>The service does not answer.</b> Its last answer came <Time at={new Date(answeredAt.value).toISOString()} />;
      what is shown here may be outdated.
    </div>
  );
}

/** While the newest configuration cannot be loaded, the service uses the previous one: every screen says so. */
function ReloadFailure(): JSX.Element | null {
  const { data } = useCall("GET /api/status");
  const failure = data?.lastReloadError;
  // There it is shown whole.
  if (!failure || route.value.path[0] === "mappings") return null;
  const place = [failure.file?.split(/[\\/]/).at(-1), failure.line].filter((part) => part !== undefined).join(":");
  return (
    <div class="problem banner" role="alert">
      <b>The last reload failed</b> <Time at={failure.at} />: {escapeHidden(`${place} ${failure.message ?? ""}`)}{" "}
      <a href={hrefTo(["mappings"])}>Show details</a>
    </div>
  );
}

function SignIn(): JSX.Element {
  const [problem, setProblem] = useState<string>();
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const token = new FormData(event.currentTarget).get("token");
          void signIn(typeof token === "string" ? token : "").then(setProblem);
        }}
      >
        <h1>Hookline</h1>
        <label>
          Gateway token
          <input name="token" type="password" autocomplete="current-password" required autofocus />
        </label>
        <button class="main">Sign in</button>
        <p class="problem" role="alert" hidden={problem === undefined}>
          {problem}
        </p>
        <p class="quiet">
          It is <code>gateway.auth.token</code> of the configuration.
        </p>
      </form>
    </main>
  );
}

function skip(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("main")?.focus();
}

const isHelpOpen = signal(false);

/** A key without an action is the browser's own. */
const KEYS: Record<string, { does: string; act?(): void }> = {
  j: { does: "next row", act: () => move(1) },
  k: { does: "previous row", act: () => move(-1) },
  Enter: { does: "open the row" },
  r: { does: "replay the request of the row or the page", act: replayHere },
  "/": { does: "search", act: () => document.querySelector<HTMLElement>("input[type=search]")?.focus() },
  g: { does: "all requests", act: () => goTo([]) },
  "?": { does: "these keys", act: () => (isHelpOpen.value = !isHelpOpen.value) },
};

function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    // The target inside the editor's shadow root is the editor.
    const [target] = event.composedPath();
    if (target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"))) {
      // Elsewhere than in a text, the next key would leave the screen.
      if (event.key === "Escape" && target.matches("input, select")) target.blur();
      return;
    }
    const key = KEYS[event.key];
    if (!key?.act) return;
    event.preventDefault();
    key.act();
  });
}

function move(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("a[data-row]")].toSorted((a, b) => top(a) - top(b));
  const current = rows.findIndex((row) => row === document.activeElement);
  const next = current === -1 ? rows.find((row) => top(row) >= listTop(row)) : rows[current + step];
  next?.focus();
}

const top = (element: HTMLElement): number => element.getBoundingClientRect().top;
const listTop = (row: HTMLElement): number => row.closest(".scroller")?.getBoundingClientRect().top ?? 0;

function replayHere(): void {
  const focused = document.activeElement?.closest<HTMLElement>("[data-event]");
  const id = (focused ?? document.querySelector<HTMLElement>("section[data-event]"))?.dataset["event"];
  if (id !== undefined) void replay(id);
}

function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = isHelpOpen.value;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-label="Keys" onClose={() => (isHelpOpen.value = false)}>
      <h2>Keys</h2>
      <dl class="pairs">
        {Object.entries(KEYS).map(([key, { does }]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button onClick={() => (isHelpOpen.value = false)}>Close</button>
    </dialog>
  );
}

access.value = document.documentElement.dataset["signedIn"] === "true" ? "open" : "closed";
effect(() => (access.value === "open" ? startLive() : undefined));
listenToKeys();
render(<App />, document.body);
