// Keys for lists (j and k choose a row, its buttons have keys of their own, data-key), menus that close, the time zone.

const rows = () => [...document.querySelectorAll("[data-row]")];
const typing = (target) => target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

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

const closeMenus = (but) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== but) menu.open = false;
};

document.addEventListener("click", (event) => closeMenus(event.target.closest("details.menu")));

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const open = document.querySelector("details.menu[open]");
    closeMenus();
    open?.querySelector("summary").focus();
    return;
  }
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

// The server writes times as this clock shows them, from the next view on.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !document.cookie.includes(`ace_zone=${zone}`)) {
  document.cookie = `ace_zone=${zone}; path=${document.body.dataset.prefix}; max-age=31536000; SameSite=Strict`;
}
