// The answer while it is written. Without this file the form is sent as a form, and the whole answer comes at once.

const events = async function* (response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const fields = Object.fromEntries(part.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
      if (fields.event) yield { name: fields.event, data: JSON.parse(fields.data) };
    }
  }
};

const line = (role, speaker, text) => {
  const item = document.createElement("li");
  item.className = `line ${role}`;
  const who = document.createElement("p");
  who.className = "speaker";
  who.textContent = speaker;
  const said = document.createElement("p");
  said.className = "text";
  said.dir = "auto";
  said.textContent = text;
  const doing = document.createElement("p");
  doing.className = "working hint";
  item.append(who, said, doing);
  document.querySelector(".welcome")?.remove();
  document.getElementById("lines").append(item);
  return item;
};

// Brings something into view; of what the header and the composer leave no room for, its beginning.
const show = (item) => {
  const block = item.offsetHeight > 0.7 * window.innerHeight ? "start" : "nearest";
  item.scrollIntoView({ block, behavior: "instant" });
};

// Nothing else keeps the messages of a temporary chat: the next message takes them along.
const keep = (form, role, text) => {
  for (const [name, value] of [["roles", role], ["texts", text]]) {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name, value });
    form.append(field);
  }
};

// Says above the field why there is no answer.
const say = (text) => {
  const why = document.createElement("p");
  Object.assign(why, { id: "problem", className: "notice bad", role: "alert", textContent: text });
  document.getElementById("refused").replaceChildren(...(text ? [why] : []));
  document.getElementById("message").setAttribute("aria-describedby", "problem");
};

const stream = async (form, submitted) => {
  const field = form.elements.message;
  const typed = field.value;
  const [send, stop] = [form.querySelector("#send"), form.querySelector("#stop")];
  if (!typed.trim() || send.disabled) return;
  const aborted = new AbortController();
  const stopReading = () => aborted.abort();
  let conversation = form.elements.conversation?.value;
  const mine = line("user", form.dataset.you, typed);
  const theirs = line("assistant", form.dataset.agent, "");
  const said = theirs.querySelector(".text");
  const doing = theirs.querySelector(".working");
  const replaced = submitted.get("replaces") ? [...document.querySelectorAll(".line")].slice(-4, -2) : [];
  for (const old of replaced) old.hidden = true;
  let quiet;
  const takeBack = () => {
    mine.remove();
    theirs.remove();
    for (const old of replaced) old.hidden = false;
    field.value = typed;
    field.focus({ preventScroll: true });
  };
  let following = true;
  const leave = () => (following = false);
  const follow = (item) => following && item && show(item);
  for (const name of ["wheel", "touchmove"]) window.addEventListener(name, leave, { passive: true });
  say("");
  doing.textContent = form.dataset.recalling;
  follow(theirs);
  theirs.setAttribute("aria-busy", "true");
  send.disabled = true;
  stop.hidden = false;
  stop.addEventListener("click", stopReading);
  try {
    const response = await fetch(form.dataset.stream, { method: "POST", body: submitted, signal: aborted.signal });
    if (!response.ok) {
      takeBack();
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      say(response.status === 401 ? form.dataset.expired : page.querySelector("[role=alert]")?.textContent ?? response.statusText);
      return;
    }
    field.value = "";
    let [failed, query] = [false, ""];
    for await (const { name, data } of events(response)) {
      if (name === "start") conversation = data.conversationId;
      if (name === "bullets") doing.textContent = form.dataset.thinking;
      if (name === "token") {
        said.append(data.text);
        doing.textContent = "";
        clearTimeout(quiet);
        quiet = setTimeout(() => (doing.textContent = form.dataset.checking), 600);
      }
      if (name === "result") {
        said.textContent = data.answer;
        if (data.stayed?.length) query = "?said=stayed";
      }
      follow(theirs);
      if (name === "error") {
        say(data.error);
        failed = true;
      }
      if (name === "done") break;
    }
    if (failed) {
      takeBack();
      return;
    }
    if (form.dataset.show) {
      await window.htmx.ajax("GET", `${form.dataset.show}${conversation}${query}`, { target: "#main", select: "#main", swap: "outerHTML" });
      history.replaceState(null, "", `${form.dataset.show}${conversation}`);
    } else {
      keep(form, "user", typed);
      keep(form, "assistant", said.textContent);
    }
    document.getElementById("message").focus({ preventScroll: true });
    follow(document.getElementById("latest") ?? theirs);
  } catch (error) {
    say(error.name === "AbortError" ? form.dataset.stopped : form.dataset.lost);
    if (!form.dataset.show) takeBack();
  } finally {
    clearTimeout(quiet);
    doing.textContent = "";
    theirs.removeAttribute("aria-busy");
    send.disabled = false;
    stop.hidden = true;
    stop.removeEventListener("click", stopReading);
    for (const name of ["wheel", "touchmove"]) window.removeEventListener(name, leave);
  }
};

document.addEventListener("submit", (event) => {
  const form = event.target.closest("#compose[data-stream]");
  if (!form) return;
  event.preventDefault();
  const submitted = new URLSearchParams(new FormData(form));
  submitted.set("timezone", Intl.DateTimeFormat().resolvedOptions().timeZone);
  stream(form, submitted);
});

document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("#compose[data-stream]");
  if (!form || event.target.id !== "message" || event.key !== "Enter") return;
  if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.isComposing || event.keyCode === 229) return; // an input method takes this Enter
  event.preventDefault();
  form.requestSubmit();
});

// What a receipt says is not left behind the field for the next message.
document.addEventListener("toggle", (event) => {
  if (event.target.matches(".receipt[open]")) show(event.target);
}, true);

// An example, and the last question once more, are sent as if they had been typed.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-ask]");
  const form = document.querySelector("#compose[data-stream]");
  if (button && form && !form.querySelector("#send").disabled) {
    event.preventDefault();
    form.elements.message.value = button.dataset.ask;
    if (button.dataset.replaces) form.elements.replaces.value = button.dataset.replaces;
    form.requestSubmit();
    if (button.dataset.replaces) form.elements.replaces.value = "";
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) navigator.clipboard?.writeText(copy.closest(".line").querySelector(".text").innerText);
});
