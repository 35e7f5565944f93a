// Keys for lists: j and k choose the next and the previous row, its buttons have keys of their own (data-key).

const rows = () => [...document.querySelectorAll("[data-row]")];
const typing = (target) => target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");

const choose = (step) => {
  const all = rows();
  const present = all.findIndex((row) => row.hasAttribute("data-chosen"));
  const next = all[Math.min(Math.max(present + step, 0), all.length - 1)];
  if (!next) return;
  all.forEach((row) => row.removeAttribute("data-chosen"));
  next.setAttribute("data-chosen", "");
  next.querySelector("a, button, input[type=checkbox]")?.focus();
  next.scrollIntoView({ block: "nearest" });
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "j") choose(1);
  else if (event.key === "k") choose(-1);
  else if (/^[a-z]$/.test(event.key)) {
    const button = document.querySelector(`[data-chosen] [data-key="${event.key}"], #status [data-key="${event.key}"]`);
    if (button) {
      event.preventDefault();
      button.click();
    }
  }
});
