// Exchanges the token of a link for a session. The token is the part after #, which browsers do not send to a server.

const message = document.getElementById("message");
const parameters = new URLSearchParams(location.hash.slice(1));
const token = parameters.get("token");

/** Shows sentences. The second one is a command. */
function say(text, command) {
  message.textContent = text + " ";
  if (!command) return;
  const code = document.createElement("code");
  code.textContent = command;
  message.append(code);
}

/** Loads the page with the session, once: without cookies, the browser would come back here again and again. */
function load() {
  if (sessionStorage.getItem("tried") === location.pathname && !token) {
    sessionStorage.removeItem("tried");
    say("This browser has no session. Open the link that the terminal shows, or start", "opsctl web --open");
    return;
  }
  sessionStorage.setItem("tried", location.pathname);
  location.replace(location.pathname + location.search);
}

if (token) {
  history.replaceState(null, "", location.pathname + location.search);
  const response = await fetch("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  }).catch(() => null);
  if (response?.ok) load();
  else if (!response) say("opsd-web does not answer. Start it again with", "opsctl web --open");
  else say((await response.json()).message + ".");
} else {
  load();
}
