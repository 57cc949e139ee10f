// The login page of the dashboard.

const element = (id) => document.getElementById(id);

if (new URLSearchParams(location.search).has("expired")) {
  element("expired").hidden = false;
  history.replaceState(null, "", location.pathname);
}
element("clear").hidden = isSecureContext;
// Without the address, `pcast publish` would start another platform.
element("commands").textContent = element("commands").textContent.replaceAll("URI", location.origin);

async function logIn(credentials, button, field) {
  element("failure").textContent = "";
  button.disabled = true;
  try {
    const response = await fetch("/dashboard/login", {
      method: "POST",
      headers: { "Content-Type": "application/json", "PCast-Dashboard": "1" },
      body: JSON.stringify(credentials),
    });
    if (response.ok) {
      // The page of the login is also at the address of the administration page.
      location.replace(location.pathname);
      return;
    }
    const answer = await response.json().catch(() => ({}));
    element("failure").textContent = answer.reason ?? `The platform answered ${response.status}.`;
    field.select();
  } catch {
    element("failure").textContent = "The platform cannot be reached.";
  }
  button.disabled = false;
}

element("login").addEventListener("submit", (event) => {
  event.preventDefault();
  const credentials = { applicationId: element("application").value.trim(), secret: element("secret").value };
  logIn(credentials, element("submit"), element("secret"));
});

element("tokenlogin").addEventListener("submit", (event) => {
  event.preventDefault();
  logIn({ token: element("token").value.trim() }, element("submittoken"), element("token"));
});
