// The login page of the dashboard.

const element = (id) => document.getElementById(id);

if (new URLSearchParams(location.search).has("expired")) {
  element("expired").hidden = false;
  history.replaceState(null, "", "/");
}
element("clear").hidden = isSecureContext;
// Without the address, `pcast publish` would start another platform.
element("commands").textContent = element("commands").textContent.replaceAll("URI", location.origin);

element("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  element("failure").textContent = "";
  element("submit").disabled = true;
  try {
    const response = await fetch("/dashboard/login", {
      method: "POST",
      headers: { "Content-Type": "application/json", "PCast-Dashboard": "1" },
      body: JSON.stringify({ applicationId: element("application").value.trim(), secret: element("secret").value }),
    });
    if (response.ok) {
      location.replace("/");
      return;
    }
    const answer = await response.json().catch(() => ({}));
    element("failure").textContent = answer.reason ?? `The platform answered ${response.status}.`;
    element("secret").select();
  } catch {
    element("failure").textContent = "The platform cannot be reached.";
  }
  element("submit").disabled = false;
});
