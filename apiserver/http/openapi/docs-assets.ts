import { createHash } from "node:crypto";
import { LANGUAGES } from "./documented.ts";

/** Looks the same without the script: a language is chosen by its radio button, and details open by themselves. */
export const PAGE_STYLE = `
:root{color-scheme:light dark;--page:#fff;--raised:#f6f8fb;--text:#16202e;--soft:#4f5d70;--line:#dfe5ec;--link:#0b57c9;
--code:#eef2f7;--panel:#111b2b;--panel-text:#dde6f2;--panel-soft:#9fb0c6;--key:#8cc4ff;--string:#a5e3b5;--mark:#fff6d6;
--get:#0a6b43;--get-back:#e2f5ec;--post:#0b57c9;--post-back:#e5effd;--put:#7d4e00;--put-back:#fcf0d9;--delete:#a8200d;--delete-back:#fdeae7}
@media(prefers-color-scheme:dark){:root{--page:#0d131b;--raised:#141c27;--text:#e3eaf3;--soft:#a3b1c2;--line:#26313f;--link:#7db5ff;
--code:#1b2532;--panel:#090e15;--mark:#2b2a17;--get:#6fdba6;--get-back:#0f2c20;--post:#8ebfff;--post-back:#122642;--put:#f2c46b;
--put-back:#32260d;--delete:#ff9d8f;--delete-back:#391812}}
*{box-sizing:border-box}
html{scroll-padding-top:4.5rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.6 system-ui,-apple-system,"Segoe UI",sans-serif}
a{color:var(--link);text-underline-offset:.15em}
h1{font-size:2rem;line-height:1.2;letter-spacing:-.02em;margin:0 0 .75rem}
h2{font-size:1.4rem;line-height:1.3;letter-spacing:-.01em;margin:0 0 .5rem}
h3{font-size:1rem;font-weight:600;margin:0;display:inline}
h4{font-size:.8rem;letter-spacing:.04em;text-transform:uppercase;color:var(--soft);margin:1.6rem 0 .4rem}
p{margin:.5rem 0}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.85em}
code{background:var(--code);padding:.1em .35em;border-radius:4px;overflow-wrap:anywhere}
:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:4px}
:target:not(section){background:var(--mark)}
.skip{position:absolute;left:-99rem;z-index:3;background:var(--page);padding:.5rem 1rem}
.skip:focus{left:.5rem;top:.5rem}
header{position:sticky;top:0;z-index:2;display:flex;gap:.6rem 1.5rem;align-items:center;flex-wrap:wrap;padding:.6rem 1.5rem;
background:var(--page);border-bottom:1px solid var(--line)}
.brand{font-weight:700;font-size:1.1rem;color:var(--text);text-decoration:none}
.brand span{font-weight:400;color:var(--soft)}
header form{display:flex;gap:.5rem;flex:1;max-width:34rem}
header form label,legend{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
input,textarea,select,button{font:inherit;color:inherit;background:var(--raised);border:1px solid var(--line);border-radius:8px;padding:.4rem .7rem}
input::placeholder{color:var(--soft);opacity:1}
input[type=search]{flex:1;min-width:0}
button{cursor:pointer;font-weight:500}
button:hover{border-color:var(--link)}
.languages{border:0;padding:0;margin:0 0 0 auto;display:flex;background:var(--raised);border-radius:8px}
.languages input{position:absolute;opacity:0;width:0;margin:0;padding:0}
.languages span{display:block;padding:.35rem .7rem;border-radius:8px;font-size:.875rem;color:var(--soft);cursor:pointer}
.languages :checked+span{background:var(--link);color:var(--page);font-weight:600}
.languages :focus-visible+span{outline:2px solid var(--text);outline-offset:2px}
.layout{display:grid;grid-template-columns:16.5rem minmax(0,1fr);max-width:100rem;margin:0 auto}
nav{position:sticky;top:3.9rem;height:calc(100vh - 3.9rem);overflow-y:auto;padding:1.5rem 1rem 3rem 1.5rem;border-right:1px solid var(--line);font-size:.9rem}
nav ul{list-style:none;margin:0 0 .75rem;padding:0}
nav li a{display:block;padding:.2rem .5rem;border-radius:6px;color:var(--soft);text-decoration:none;line-height:1.4}
nav li a:hover{background:var(--raised);color:var(--text)}
nav details details summary{padding:.25rem .5rem;border-radius:6px;font-weight:600;cursor:pointer}
nav details details ul{padding-left:.9rem}
main{padding:2rem 2.5rem 6rem;outline:none;min-width:0}
section{margin:0 0 3.25rem}
section>p,.lead{max-width:46rem}
.lead{color:var(--soft);margin-bottom:2rem}
.topic{max-width:46rem;margin-bottom:2.25rem}
.entry{border:1px solid var(--line);border-radius:10px;margin:.5rem 0;background:var(--page)}
.entry>summary{display:flex;flex-wrap:wrap;gap:.2rem .75rem;align-items:baseline;padding:.6rem .9rem;cursor:pointer;list-style:none}
.entry>summary::-webkit-details-marker{display:none}
.entry>summary:hover{background:var(--raised);border-radius:10px}
.entry>summary>code{background:none;padding:0;color:var(--soft)}
.entry[open]>summary{border-bottom:1px solid var(--line);border-radius:10px 10px 0 0;background:var(--raised)}
.in{margin-left:auto;color:var(--soft);font-size:.85rem}
.method{min-width:4.2rem;text-align:center;font:600 .75rem/1.6 ui-monospace,monospace;border-radius:5px;padding:.05rem .4rem;color:var(--soft);background:var(--code)}
.get{color:var(--get);background:var(--get-back)}.post{color:var(--post);background:var(--post-back)}
.put{color:var(--put);background:var(--put-back)}.delete{color:var(--delete);background:var(--delete-back)}
.body{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:2rem;padding:.75rem 1.1rem 1.25rem;scroll-margin-top:8rem}
:target.body{background:none;box-shadow:inset 3px 0 var(--link)}
.words:only-child{grid-column:1/-1}
.examples:empty{display:none}
.access{font-size:.9rem;color:var(--soft)}
.fields{list-style:none;margin:0;padding:0}
.fields li{border-top:1px solid var(--line);padding:.55rem 0}
.fields .fields{margin:.4rem 0 0 .25rem;padding-left:.9rem;border-left:2px solid var(--line)}
.fields p,.code p{margin:.15rem 0}
.name{font-weight:600}
.type,.facts{color:var(--soft);font-size:.875rem}
.codes{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;font-size:.9rem}
.codes li{color:var(--soft)}
.permalink{margin-top:1.5rem;font-size:.875rem}
.more{border:1px solid var(--line);border-radius:10px;margin:.6rem 0;padding:.5rem .9rem}
.more>summary{cursor:pointer;font-weight:600}
.code{border-top:1px solid var(--line);padding:.6rem 0;margin-top:.5rem;scroll-margin-top:5rem}
.what{font-weight:600}
figure{margin:.75rem 0;background:var(--panel);color:var(--panel-text);border:1px solid var(--line);border-radius:10px;position:relative}
figcaption{padding:.5rem .9rem;font-size:.8rem;color:var(--panel-soft);border-bottom:1px solid #26344a;min-height:2.4rem}
pre{margin:0;padding:.8rem .9rem;white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.55;tab-size:4}
.try pre{max-height:34rem;overflow-y:auto}
pre i{font-style:normal;color:var(--key)}pre b{font-weight:400;color:var(--string)}
figure button{position:absolute;top:.3rem;right:.4rem;padding:.1rem .6rem;font-size:.8rem;background:#1f2d43;border-color:#38496360;color:#dde6f2}
figure[data-language]{display:none}
${LANGUAGES.map((language) => `body:has([value=${language}]:checked) figure[data-language=${language}]`).join(
  ",",
)}{display:block}
.try{border:1px solid var(--line);border-radius:10px;padding:.9rem;margin:.75rem 0;background:var(--raised)}
.try h4{margin-top:0}
.try label{display:block;margin:.5rem 0 .15rem;font-size:.875rem}
.try input,.try textarea,.try select{width:100%;background:var(--page)}
.try textarea{min-height:9rem;font:.85em/1.5 ui-monospace,monospace}
.send{margin-top:.9rem;background:var(--link);border-color:var(--link);color:var(--page);font-weight:600}
@media(min-width:64.01rem){.contents>summary{display:none}}
@media(max-width:64rem){.layout{display:block}nav{position:static;height:auto;max-height:none;border:0;padding:.75rem 1rem 0}
.contents{border:1px solid var(--line);border-radius:10px;padding:.6rem .9rem}.contents>summary{cursor:pointer;font-weight:600}
main{padding:1.25rem 1rem 4rem}header{padding:.6rem 1rem}.body{grid-template-columns:minmax(0,1fr);gap:.5rem;padding:.75rem .9rem 1rem;scroll-margin-top:12rem}
header form{order:3;flex-basis:100%;max-width:none}html{scroll-padding-top:7rem}h1{font-size:1.6rem}.languages span{padding:.3rem .5rem;font-size:.8rem}
.entry>summary>code{flex-basis:100%;overflow-wrap:normal}.method{min-width:0}nav li a{padding:.4rem .5rem}}
@media print{header,nav,.try,figure button{display:none}.layout{display:block}}
`;

/**
 * Adds what a page without a script cannot have: buttons that copy, and a form at each operation that sends it to this
 * server. The token is in an input alone: it is not stored, and goes nowhere else.
 */
export const PAGE_SCRIPT = `"use strict";
const MAX_SHOWN = 100000;
/** Longer than the server takes at most. */
const WAIT_MS = 60000;
const KEY_HEADER = "Idempotency-Key";
let token = "";

/** Empty where the page came over HTTP, unless from this machine. */
function createKey() {
  return crypto.randomUUID?.() ?? "";
}

function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function addCopyButtons(root) {
  for (const figure of root.querySelectorAll("figure:not(:has(button))")) {
    const caption = figure.querySelector("figcaption").textContent;
    const button = make("button", { type: "button", textContent: "Copy" });
    button.setAttribute("aria-label", "Copy " + caption);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(figure.querySelector("pre").textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(figure.querySelector("pre"));
        button.textContent = "Press Ctrl+C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    figure.append(button);
  }
}

function addField(form, id, label, input) {
  form.append(make("label", { htmlFor: id, textContent: label }), Object.assign(input, { id }));
  return input;
}

function addTryOut(body) {
  if (body.dataset.method === undefined || body.querySelector(".try")) return;
  const { method, path } = body.dataset;
  const form = make("form", { className: "try" }, make("h4", { textContent: "Try it" }));
  form.setAttribute("aria-label", "Try " + body.id);
  const tokenInput = addField(form, body.id + "-token", "Your token; kept until you leave this page",
    make("input", { type: "password", autocomplete: "off", value: token }));
  tokenInput.addEventListener("input", () => { token = tokenInput.value.trim(); });
  const inputs = [...body.querySelectorAll(".words > .fields > [data-in]")].map((row) => {
    const { name } = row.dataset;
    const place = row.dataset.in;
    const required = place === "path" || row.querySelector(".type").textContent.includes("required");
    const input = name === "dry_run"
      ? make("select", {}, new Option("true", "true"), new Option("false", "false"))
      : make("input", { type: "text", required, autocomplete: "off", value: name === KEY_HEADER ? createKey() : "" });
    return { name, place, input: addField(form, body.id + "-" + place + "-" + name, name + (required ? "" : " (optional)"), input) };
  });
  const example = body.querySelector("[data-body]")?.dataset.body;
  const bodyInput = example === undefined ? undefined
    : addField(form, body.id + "-body", "Body (JSON)", make("textarea", { value: example, spellcheck: false }));
  const button = make("button", { className: "send", textContent: "Send " + method });
  const result = make("div", {});
  result.setAttribute("role", "status");
  form.append(button);
  if (method !== "GET") form.append(make("p", { className: "facts",
    textContent: body.dataset.dryRun ? "With dry_run true, nothing is changed." : "This changes your organization." }));
  form.append(result);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    for (const input of form.querySelectorAll("input[type=password]")) input.value = token;
    button.disabled = true;
    result.replaceChildren(make("p", { textContent: "Sending" }));
    try {
      result.replaceChildren(await send(method, path, inputs, bodyInput));
      addCopyButtons(result);
    } catch (error) {
      result.replaceChildren(make("p", { textContent: "Not sent: " + error.message }));
    } finally {
      button.disabled = false;
    }
  });
  body.querySelector(".examples").append(form);
}

async function send(method, path, inputs, bodyInput) {
  const query = new URLSearchParams();
  const headers = { Accept: "application/json, */*;q=0.1" };
  let address = path;
  for (const { name, place, input } of inputs) {
    const value = input.value.trim();
    if (place === "path") {
      if (/^[.]{0,2}$/.test(value)) return make("p", { textContent: "Fill in " + name + "." });
      address = address.replace("{" + name + "}", () => encodeURIComponent(value));
    } else if (value !== "") {
      if (place === "query") query.append(name, value);
      else headers[name] = value;
    }
  }
  if (token !== "") headers.Authorization = "Bearer " + token;
  if (bodyInput !== undefined) headers["Content-Type"] = "application/json";
  const request = new Request(address + (query.size === 0 ? "" : "?" + query), { method, headers, body: bodyInput?.value,
    credentials: "omit", redirect: "manual", referrerPolicy: "no-referrer", cache: "no-store", signal: AbortSignal.timeout(WAIT_MS) });
  const began = performance.now();
  try {
    const response = await fetch(request);
    if (response.type === "opaqueredirect") return make("p", { textContent: "The answer is a redirect, which is not followed." });
    const text = await response.text();
    // What is sent next is another request, unless this one should be repeated.
    if (response.ok || (response.status < 500 && !response.headers.has("Retry-After")))
      for (const { name, input } of inputs) if (name === KEY_HEADER) input.value = createKey();
    const caption = response.status + ", " + Math.round(performance.now() - began) + " ms, request " + response.headers.get("X-Request-Id");
    return make("figure", {}, make("figcaption", { textContent: caption }), make("pre", { textContent: format(text), tabIndex: 0 }));
  } catch (error) {
    const done = method === "GET" ? "" : ". The request may have been carried out";
    return make("p", { textContent: "No answer: " + error.message + done });
  }
}

function format(text) {
  let shown = text === "" ? "No body." : text;
  try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* Text is shown as it is. */ }
  return shown.length > MAX_SHOWN ? shown.slice(0, MAX_SHOWN) + "\\n... the rest is not shown" : shown;
}

function enhance(details) {
  const body = details.querySelector(":scope > .body");
  if (body === null) return;
  addTryOut(body);
  addCopyButtons(body);
}

document.addEventListener("toggle", ({ target }) => { if (target.open && target.matches(".entry")) enhance(target); }, true);
for (const details of document.querySelectorAll(".entry[open]")) enhance(details);
if (matchMedia("(max-width:64rem)").matches) document.querySelector(".contents").open = false;
for (const topic of document.querySelectorAll(".topic")) addCopyButtons(topic);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, textarea, select")) return;
  event.preventDefault();
  document.getElementById("search").focus();
});
`;

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Allows this style and this script alone, and requests to this server alone. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src ${hashOf(PAGE_STYLE)}`,
  `script-src ${hashOf(PAGE_SCRIPT)}`,
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");
