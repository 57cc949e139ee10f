"""A client of WHIP (RFC 9725) and WHEP with urllib, which posts an offer, reads the answer and deletes the resource."""

import time
import urllib.error
import urllib.parse
import urllib.request

TIMEOUT = 60


class Refused(Exception):
    """The endpoint did not answer with success."""


class Resource:
    """A WHIP or WHEP session at the endpoint."""

    def __init__(self, url, token=None):
        self._url = url
        self._token = token
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.address = None
        self.answer = None
        self.stream = None
        self.etag = None

    def create(self, offer):
        """Posts the offer and returns the answer."""
        response = self._request("POST", self._url, offer.encode())
        if response.status != 201:
            raise Refused(f"POST was answered {response.status}")
        self.answer = self._description(response)
        return self.answer

    def counter(self, offer):
        """Posts an offer that cannot be accepted and returns the counter-offer (draft-ietf-wish-whep, section 4.3.2)."""
        response = self._request("POST", self._url, offer.encode(), accepted=406)
        if response.status != 406:
            raise Refused(f"POST was answered {response.status} and not 406")
        if not response.headers.get_param("valid-until"):
            raise Refused("the counter-offer has no valid-until")
        return self._description(response)

    def complete(self, answer):
        """Sends the answer to the counter-offer."""
        response = self._request("PATCH", self.address, answer.encode())
        if response.status != 204:
            raise Refused(f"PATCH was answered {response.status}")

    def _description(self, response):
        location = response.headers["Location"]
        if not location:
            raise Refused(f"the {response.status} has no Location")
        if response.headers.get_content_type() != "application/sdp":
            raise Refused(f"the {response.status} carries {response.headers['Content-Type']}")
        self.address = urllib.parse.urljoin(response.url, location)
        self.etag = response.headers["ETag"]
        self.stream = response.headers["PCast-Stream-Id"]
        return response.read().decode()

    def await_end(self):
        """Waits until the endpoint has no session any more, without ending it. It may close the connection earlier."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            if self._request("GET", self.address, accepted=404).status == 404:
                return
            time.sleep(0.05)

    def delete(self):
        """Ends the session and returns the status, or None if there is no session."""
        if self.address is None:
            return None
        try:
            return self._request("DELETE", self.address).status
        except Refused as refusal:
            return str(refusal)

    def _request(self, method, url, body=None, accepted=None):
        request = urllib.request.Request(url, data=body, method=method)
        if body is not None:
            request.add_header("Content-Type", "application/sdp")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            return self._opener.open(request, timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            if error.code == accepted:
                return error
            text = error.read(300).decode(errors="replace").strip()
            raise Refused(f"{method} was answered {error.code}: {text}") from None


def check_end(run, resource):
    """Checks that the connection stayed until its session was deleted, and that this succeeded."""
    run.figures["deleteStatus"] = resource.deleted
    run.check("the connection stayed", run.figures["connectionState"] == "connected")
    run.check("DELETE was answered 200", resource.deleted == 200)
