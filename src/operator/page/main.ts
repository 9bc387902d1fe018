const form = document.querySelector("form");
const alert = document.querySelector("p");
const status = document.querySelector("pre");

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  void signIn(new FormData(form).get("token"));
});
if (document.documentElement.dataset["signedIn"] === "true") void show();

async function signIn(token: unknown): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("./api/session", { method: "POST", headers, body: JSON.stringify({ token }) });
  if (answer.ok) return show();
  if (alert) alert.textContent = (await answer.json()).error;
}

async function show(): Promise<void> {
  const answer = await fetch("./api/status");
  if (!answer.ok || !form || !status) return;
  form.hidden = true;
  status.hidden = false;
  status.textContent = JSON.stringify(await answer.json(), undefined, 2);
}
