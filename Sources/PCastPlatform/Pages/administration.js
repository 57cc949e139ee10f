// The administration page: applications, limits, webhooks, declared streams, draining, and the audit log.

import { LoggedOut, Refused, ask, makeButton, part, readRole, showRows, signOut } from "/assets/requests.js";
import { count, setText } from "/assets/streams.js";

const element = (id) => document.getElementById(id);
const interval = 3000;
/** The application of the login, its path, and whether it administers the platform. */
const login = { id: null, path: null, isAdministrator: false };

function show(problem) {
  setText(element("problemtext"), problem);
  element("problem").hidden = !problem;
}

const reasonOf = (error) => (error instanceof Refused ? error.message : "The platform does not respond.");

function tellFailure(error) {
  if (!(error instanceof LoggedOut)) return show(reasonOf(error));
  clearTimeout(timer);
  isOver = true;
  show("Your login has expired.");
  element("again").hidden = false;
}

/** Runs an action of a button, which is disabled meanwhile. A failure is shown in `place`, or at the bottom. */
async function run(button, action, place) {
  if (place) setText(place, "");
  button.disabled = true;
  try {
    await action();
    await read();
  } catch (error) {
    if (place && !(error instanceof LoggedOut)) setText(place, reasonOf(error));
    else tellFailure(error);
  }
  button.disabled = false;
}

/** Runs an action when a form is submitted. The form is reset if `resets` is true. */
function onSubmit(form, place, action, resets = true) {
  element(form).addEventListener("submit", (event) => {
    event.preventDefault();
    run(element(form).querySelector("button:not([type=button])"), async () => {
      await action();
      if (resets) element(form).reset();
    }, element(place));
  });
}

// MARK: Dialogs

let confirmed = null;

/** Asks for a confirmation, and then runs an action. */
function confirm(title, why, name, text, action) {
  setText(element("confirmtitle"), title);
  setText(element("confirmwhy"), why);
  setText(element("confirmname"), name);
  setText(element("confirmfailure"), "");
  setText(element("confirm"), text);
  confirmed = action;
  element("confirmdialog").showModal();
}

element("confirm").addEventListener("click", () => {
  run(element("confirm"), async () => {
    const then = await confirmed();
    element("confirmdialog").close();
    then?.();
  }, element("confirmfailure"));
});

function showSecret({ applicationId, secret }, why = "It signs the tokens, and permits all requests of the application.") {
  setText(element("secrettitle"), `Secret of ${applicationId}`);
  setText(element("secretwhy"), why);
  element("secret").value = secret;
  setText(element("secretstate"), "");
  element("secretdialog").showModal();
}

// The page does not keep a secret.
element("secretdialog").addEventListener("close", () => { element("secret").value = ""; });
element("copysecret").addEventListener("click", async () => {
  const field = element("secret");
  let isCopied = true;
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // Pages without TLS cannot use the Clipboard API.
    field.focus();
    field.select();
    isCopied = document.execCommand("copy");
  }
  setText(element("secretstate"), isCopied ? "Copied" : "Copy it from the field");
});

// MARK: Platform

function showPlatform({ draining, node }) {
  const badge = element("state");
  setText(badge, draining ? "draining" : "accepts clients");
  badge.className = `badge ${draining ? "fair" : "good"}`;
  setText(element("statewhy"), draining
    ? node ? "New clients are sent to other nodes. Existing ones stay." : "New clients are rejected. Existing ones stay."
    : "");
  element("drain").hidden = draining;
  element("accept").hidden = !draining;
}

element("drain").addEventListener("click", () => {
  confirm("Drain this platform?", "It accepts no new publishers and viewers until you let it. Existing ones stay.", "",
    "Drain", async () => { await ask("POST", "/pcast/drain"); });
});
element("accept").addEventListener("click", () => {
  run(element("accept"), () => ask("DELETE", "/pcast/drain"));
});

// MARK: Applications

const applicationPath = (id) => `/pcast/application/${encodeURIComponent(id)}`;

function showApplication(row, { applicationId, configured, administersPlatform, streams, viewers }) {
  part(row, "name", applicationId, "name");
  const facts = [
    administersPlatform ? "administers the platform" : null,
    configured ? "in the configuration" : null, count(streams, "stream"), count(viewers, "viewer"),
  ];
  part(row, "facts", facts.filter(Boolean).join(" · "), "facts quiet small");
  const actions = row.querySelector(":scope > .actions");
  if (configured) return actions?.remove();
  if (actions) return;
  const made = document.createElement("span");
  made.className = "actions administer";
  made.append(makeButton("New secret…", "rotate", applicationId, () => {
    confirm("Replace the secret?", "Tokens that were signed with the former secret are rejected. Streams continue.",
      applicationId, "Replace the secret", async () => {
        const answer = await ask("POST", `${applicationPath(applicationId)}/rotation`);
        return () => showSecret(answer);
      });
  }), makeButton("Revoke access…", "revoke danger", applicationId, () => {
    confirm("Revoke access?", "The application is removed, and its streams end. Its recordings remain on the disk.",
      applicationId, "Revoke access", async () => { await ask("DELETE", applicationPath(applicationId)); });
  }));
  row.append(made);
}

onSubmit("newapplication", "applicationfailure", async () => {
  showSecret(await ask("PUT", applicationPath(element("applicationid").value)));
});

// MARK: Limits

function showLimit(row, { name, value, configured, changed, unit, rejected }) {
  const words = name.replaceAll("-", " ");
  part(row, "name", words.charAt(0).toUpperCase() + words.slice(1), "name");
  const facts = [
    unit === "bit/s" ? "bit/s, 0 for no limit" : null, changed ? `${configured} in the configuration` : null,
    rejected ? `${rejected} rejected` : null,
  ];
  part(row, "facts", facts.filter(Boolean).join(" · "), "facts quiet small");
  const form = row.querySelector(":scope > form") ?? makeLimitForm(row, name, words);
  const field = form.querySelector("input");
  // A value that the user is changing is not overwritten.
  if (document.activeElement !== field && field.dataset.value !== `${value}`) {
    field.value = value;
    field.dataset.value = value;
  }
  form.querySelector(".reset").hidden = !changed;
}

function makeLimitForm(row, name, words) {
  const form = document.createElement("form");
  form.className = "actions";
  const field = document.createElement("input");
  Object.assign(field, { type: "number", min: 0, max: 1e12, step: 1, required: true });
  field.setAttribute("aria-label", words);
  field.disabled = document.body.dataset.role !== "administer";
  const save = makeButton("Save", "administer", words, () => {});
  save.type = "submit";
  const path = `/pcast/limit/${encodeURIComponent(name)}`;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run(save, async () => {
      field.blur();
      await ask("PUT", path, { value: Number(field.value) });
    }, element("limitfailure"));
  });
  form.append(field, save, makeButton("Reset", "reset administer", words, (event) => {
    run(event.currentTarget, () => ask("DELETE", path), element("limitfailure"));
  }));
  row.append(form);
  return form;
}

// MARK: Webhooks

function showWebhook(row, { name, uri, method }) {
  part(row, "name", name, "name");
  part(row, "facts", `${method} ${uri}`, "facts quiet small");
  if (row.querySelector(":scope > .actions")) return;
  const actions = document.createElement("span");
  actions.className = "actions";
  actions.append(makeButton("Delete…", "danger", name, () => {
    confirm("Delete this webhook?", "Its waiting notifications are deleted too.", name, "Delete the webhook",
      async () => { await ask("DELETE", `${login.path}/callback/${encodeURIComponent(name)}`); });
  }));
  row.append(actions);
}

onSubmit("newwebhook", "webhookfailure", async () => {
  const uri = new URL(element("webhookuri").value);
  const callback = {
    protocol: uri.protocol.slice(0, -1), host: uri.hostname.replace(/^\[|\]$/g, ""), path: uri.pathname,
    query: uri.search.slice(1), ...(uri.port ? { port: Number(uri.port) } : {}),
  };
  const { signingSecret } = await ask(
    "PUT", `${login.path}/callback/${encodeURIComponent(element("webhookname").value)}`, { callback });
  showSecret({ applicationId: `the webhook ${element("webhookname").value}`, secret: signingSecret },
    "It signs the notifications, so that the backend can verify them.");
});

element("resend").addEventListener("click", () => {
  run(element("resend"), async () => {
    await ask("POST", `${login.path}/notifications/redelivery`);
    element("webhookstate").classList.remove("unseen");
    setText(element("webhookstate"), "The failed notifications are sent again.");
  }, element("webhookfailure"));
});

// MARK: Declared streams

function showStream(row, { name, state, source, onDemand, record, viewers, failure }) {
  part(row, "name", name, "name");
  const facts = [
    state, source ?? "published", onDemand ? "only with viewers" : null, record ? "recorded" : null,
    count(viewers, "viewer"), failure ?? null,
  ];
  part(row, "facts", facts.filter(Boolean).join(" · "), "facts quiet small");
  const path = `/pcast/name/${encodeURIComponent(name)}`;
  let actions = row.querySelector(":scope > .actions");
  if (!actions) {
    actions = document.createElement("span");
    actions.className = "actions operate";
    const operate = (operation) => (event) => run(event.currentTarget, () => ask("POST", `${path}/${operation}`));
    actions.append(
      makeButton("Switch off", "off", name, operate("off")), makeButton("Switch on", "on", name, operate("on")),
      makeButton("Remove…", "danger", name, () => {
        confirm("Remove this declaration?", "The stream ends. A declaration of the configuration can only be removed there.",
          name, "Remove", async () => { await ask("DELETE", path); });
      }));
    row.append(actions);
  }
  actions.querySelector(".on").hidden = state !== "off";
  actions.querySelector(".off").hidden = state === "off";
}

onSubmit("newstream", "streamfailure", async () => {
  const name = element("streamname").value;
  const { names } = await ask("GET", "/pcast/names");
  // An existing declaration would lose its other settings.
  if (names.some((each) => each.name === name)) throw new Refused(409, "There is a declared stream with this name.");
  const source = element("streamsource").value.trim();
  await ask("PUT", `/pcast/name/${encodeURIComponent(name)}`, {
    ...(source ? { source } : {}), onDemand: element("streamdemand").checked, record: element("streamrecord").checked,
  });
});

// MARK: Audit log

function showChange(row, { time, application, role, credentials, subject, address, method, path, status }) {
  part(row, "time", new Date(time).toLocaleString(), "time quiet small");
  part(row, "name", `${method} ${path}`, "name").title = path;
  const isPermitted = status < 400;
  part(row, "status", `${status}`, `tone ${isPermitted ? "" : "bad"}`);
  part(row, "facts", [application, subject, role, credentials, address].filter(Boolean).join(" · "), "facts quiet small");
}

// MARK: Polling

let timer = null;
let isOver = false;

const showList = (list, empty, items, key, fill) => {
  showRows(element(list), items, key, fill);
  if (empty) element(empty).hidden = items.length > 0;
};

async function read() {
  const platform = await readRole();
  login.id = platform.applicationId;
  login.path = applicationPath(platform.applicationId);
  setText(element("application"), platform.applicationId);
  setText(element("role"), platform.role);
  for (const section of document.querySelectorAll(".platform")) section.hidden = !platform.administersPlatform;
  const isAdministrator = platform.role === "administer";
  const { names } = await ask("GET", "/pcast/names");
  showList("declared", "nodeclared", names, ({ name }) => name, showStream);
  if (platform.administersPlatform) {
    showPlatform(platform);
    const { applications } = await ask("GET", "/pcast/applications");
    showList("applications", null, applications, ({ applicationId }) => applicationId, showApplication);
    const { limits } = await ask("GET", "/pcast/limits");
    showList("limits", null, limits, ({ name }) => name, showLimit);
  }
  if (!isAdministrator) return;
  const { callbacks } = await ask("GET", `${login.path}/callback`);
  showList("webhooks", "nowebhooks", callbacks, ({ name }) => name, showWebhook);
  const { entries } = await ask("GET", "/pcast/audit?length=50");
  const numbers = new Map();
  // Requests of the same millisecond have different keys.
  const keyed = entries.map((entry) => {
    const number = numbers.get(entry.time) ?? 0;
    numbers.set(entry.time, number + 1);
    return { ...entry, key: `${entry.time} ${entry.method} ${entry.path} ${number}` };
  });
  showList("changes", "nochanges", keyed, ({ key }) => key, showChange);
}

async function poll() {
  clearTimeout(timer);
  try {
    await read();
    if (!isOver) show("");
  } catch (error) {
    if (!isOver) tellFailure(error);
  }
  if (!isOver) timer = setTimeout(poll, document.hidden ? interval * 5 : interval);
}

element("logout").addEventListener("click", async () => {
  isOver = true;
  clearTimeout(timer);
  signOut.abort();
  await ask("DELETE", "/dashboard/login", undefined, new AbortController().signal).catch(() => {});
  location.replace("/");
});

document.addEventListener("visibilitychange", () => { if (!document.hidden && !isOver) poll(); });
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
poll();
