import { effect, signal } from "@preact/signals";
import { type JSX, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { access, answeredAt, signIn, signOut, wasSignedOut } from "./api-client.ts";
import { Activity } from "./activity/activity-screen.tsx";
import { Recording } from "./activity/recordings.tsx";
import { Event } from "./event/event.tsx";
import { Inbox } from "./inbox/inbox.tsx";
import { Mappings } from "./lists/mappings.tsx";
import { Session, Sessions } from "./lists/sessions.tsx";
import { Spend } from "./lists/spend.tsx";
import { System } from "./lists/system.tsx";
import { connection, startLive } from "./live.ts";
import { replay } from "./parts/actions.tsx";
import { Asking, Dialog } from "./parts/ask.tsx";
import { Notice, Pair, Time } from "./parts/controls.tsx";
import { hasDraft } from "./parts/draft.ts";
import { useCall } from "./parts/load.tsx";
import { pressOnce } from "./parts/press.ts";
import { Title } from "./parts/title.tsx";
import { Playground } from "./playground/playground.tsx";
import { goTo, hrefTo, route, waiting } from "./router.ts";

interface Screen {
  path: string;
  name: string;
  show(id: string | undefined): JSX.Element;
}

const SCREENS: Screen[] = [
  { path: "", name: "Inbox", show: () => <Inbox /> },
  { path: "activity", name: "Activity", show: () => <Activity /> },
  {
    path: "sessions",
    name: "Sessions",
    show: (id) => (id === undefined ? <Sessions /> : <Session key={id} id={id} />),
  },
  { path: "mappings", name: "Mappings", show: (id) => <Mappings id={id} /> },
  { path: "spend", name: "Spend", show: () => <Spend /> },
  { path: "system", name: "System", show: () => <System /> },
];
/** On a phone, the others are behind *More*. */
const FIRST_ON_PHONES = 4;
const MORE: Screen = { path: "more", name: "More", show: () => <More /> };

/** Parts of a screen that have an address of their own. */
const PARTS: Record<string, { screen: string; show(id: string): JSX.Element }> = {
  inbox: { screen: "", show: (id) => <Inbox id={id} /> },
  events: { screen: "activity", show: (id) => <Event key={id} id={id} /> },
  recordings: { screen: "activity", show: (id) => <Recording key={id} id={id} /> },
};

function App(): JSX.Element {
  if (access.value === "closed") return <SignIn />;
  return (
    <>
      <button class="skip" onClick={() => document.querySelector("main")?.focus()}>
        Skip to the content
      </button>
      <Navigation />
      <div class="content">
        <Outage />
        <main id="main" tabIndex={-1}>
          <Shown />
        </main>
      </div>
      <Notice />
      <Asking />
      <Help />
    </>
  );
}

function Shown(): JSX.Element {
  const [first = "", id, last] = route.value.path;
  const part = PARTS[first];
  if (part && id !== undefined) return part.show(id);
  if (first === "mappings" && (last === "edit" || (id === "new" && last === undefined)))
    return <Playground mapping={last === "edit" ? (id ?? "") : ""} />;
  const screen = [...SCREENS, MORE].find(({ path }) => path === first);
  if (screen) return screen.show(id);
  return (
    <section class="page">
      <Title text="Page not found" />
      <a href={hrefTo([])}>Inbox</a>
    </section>
  );
}

function Navigation(): JSX.Element {
  const [first = ""] = route.value.path;
  const current = PARTS[first]?.screen ?? first;
  const items = useCall("GET /api/inbox").data?.items;
  const open = items?.filter(({ part }) => part !== "left").length ?? 0;
  useEffect(() => void (waiting.value = open), [open]);
  return (
    <nav aria-label="Main">
      <a class="brand" href={hrefTo([])}>
        Hookline
      </a>
      <ul>
        {[...SCREENS, MORE].map(({ path, name }, place) => (
          <li key={path} class={path === MORE.path ? "narrow" : place >= FIRST_ON_PHONES ? "wide" : undefined}>
            <a href={hrefTo([path].filter(Boolean))} aria-current={path === current ? "page" : undefined}>
              {name}
              {path === "" && open > 0 && <b class="count">{open}</b>}
            </a>
          </li>
        ))}
      </ul>
      <Account />
    </nav>
  );
}

function Account(): JSX.Element {
  return (
    <p class="account">
      <span class={`connection ${connection.value}`} role="status">
        {connection.value}
      </span>
      <button class="small" onClick={() => (isHelpOpen.value = true)}>
        Keys
      </button>
      <button class="small" onClick={askToSignOut}>
        Sign out
      </button>
    </p>
  );
}

/** The screens that have no room on a phone. */
function More(): JSX.Element {
  return (
    <section class="page more">
      <Title text="More" />
      {SCREENS.slice(FIRST_ON_PHONES).map(({ path, name }) => (
        <a key={path} class="button" href={hrefTo([path])}>
          {name}
        </a>
      ))}
      <Account />
    </section>
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
        {wasSignedOut.value !== undefined && <p role="status">{wasSignedOut.value}</p>}
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

const isHelpOpen = signal(false);

/** A key without an action is the browser's own. */
const KEYS: Record<string, { does: string; act?(): void }> = {
  j: { does: "next row", act: () => move(1) },
  k: { does: "previous row", act: () => move(-1) },
  Enter: { does: "open the row" },
  r: { does: "replay the request of the row or the page", act: replayHere },
  "/": { does: "search", act: () => document.querySelector<HTMLElement>("input[type=search]")?.focus() },
  i: { does: "inbox", act: () => goTo([]) },
  g: { does: "all requests", act: () => goTo(["activity"]) },
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
  const close = (): void => void (isHelpOpen.value = false);
  return (
    <Dialog title="Keys" isOpen={isHelpOpen.value} close={close}>
      <dl class="pairs">
        {Object.entries(KEYS).map(([key, { does }]) => (
          <Pair key={key} name={key}>
            {does}
          </Pair>
        ))}
      </dl>
      <button onClick={close}>Close</button>
    </Dialog>
  );
}

access.value = document.documentElement.dataset["signedIn"] === "true" ? "open" : "closed";
effect(() => (access.value === "open" ? startLive() : undefined));
pressOnce();
listenToKeys();
render(<App />, document.body);
