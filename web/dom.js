// Creates elements, and updates them without losing focus, selection and scroll positions.

/** Creates an element. Text children become text nodes, so that no text of a user is parsed as markup. */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) (element.$on ??= {})[key.slice(2)] = value;
    else if (key === "class") element.className = [...classes, value].filter(Boolean).join(" ");
    else if (key === "vars") element.$vars = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  applyVariables(element);
  element.append(...present(children));
  return element;
}

const present = (children) => children.flat(Infinity)
  .filter((child) => child !== null && child !== undefined && child !== false);

function applyVariables(element) {
  for (const [key, value] of Object.entries(element.$vars ?? {})) element.style.setProperty(key, value);
}

/** Makes the children of an element equal to `next`. Reuses elements of the same kind and key. */
export function update(parent, ...next) {
  const wanted = present(next).map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
  const keyed = new Map();
  for (const child of parent.childNodes) if (keyOf(child)) keyed.set(keyOf(child), child);
  let current = parent.firstChild;
  for (const child of wanted) {
    const key = keyOf(child);
    let old = key ? keyed.get(key) : current;
    if (old && !key && keyOf(old)) old = null;
    if (old && isSame(old, child)) {
      keyed.delete(key);
      if (old !== current) parent.insertBefore(old, current);
      else current = current.nextSibling;
      adopt(old, child);
    } else {
      parent.insertBefore(child, current);
    }
  }
  while (current) {
    const after = current.nextSibling;
    current.remove();
    current = after;
  }
}

const keyOf = (node) => node.nodeType === 1 ? node.getAttribute("data-key") : null;
const isSame = (a, b) => a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

function adopt(old, fresh) {
  if (old === fresh) return;
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  old.$on = fresh.$on;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "style" && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  old.$vars = fresh.$vars;
  applyVariables(old);
  if (old.hasAttribute("data-own")) return;
  if (old.nodeName === "INPUT") {
    if (old.type === "checkbox") old.checked = fresh.hasAttribute("checked");
    else if (old !== document.activeElement) old.value = fresh.getAttribute("value") ?? old.value;
    return;
  }
  const { value } = fresh;
  update(old, ...fresh.childNodes);
  // Attributes do not change what the reader chose.
  if (old.nodeName === "SELECT" && old.value !== value) old.value = value;
}

for (const type of ["click", "input", "change", "submit", "focusin", "pointerover"]) {
  document.addEventListener(type, (event) => {
    for (let node = event.target; node && node !== document; node = node.parentNode) {
      const handler = node.$on?.[type];
      if (handler) {
        handler(event, node);
        return;
      }
    }
  });
}

/** Announces a text to screen readers after an action. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

/** Copies a text, and announces that. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied");
  } catch {
    announce("The browser did not allow copying");
  }
}

/** Returns a command with a button that copies it. */
export function command(text) {
  return h("span.command", {},
    h("code", {}, text),
    h("button.quiet", { type: "button", title: "Copy", "aria-label": `Copy ${text}`, onclick: () => copy(text) }, "Copy"));
}

/** Returns a text for an empty list, with a command that adds to it. */
export function empty(sentence, text) {
  return h("p.empty", {}, sentence, text ? [" ", command(text)] : null);
}
