"""A chat model behind any endpoint with OpenAI's protocol: POST <base_url>/chat/completions.

Requests are limited to a rate. They are repeated after a temporary fault: a busy or failing server (429, 5xx), a lost
connection, an answer that is not a chat completion. The key comes from an environment variable and is in no message,
file or redirect.
"""

import os
import threading
import time
from typing import Any

import requests

from allmlp.common.errors import UserError, redact_secrets

ATTEMPTS = 6
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0  # doubled from attempt to attempt, or as the server's Retry-After says
TIMEOUT_S = 300.0


class _PassingError(Exception):
    """A temporary fault. `pause`: seconds to wait, from the server."""

    def __init__(self, what: str, pause: float = 0.0) -> None:
        super().__init__(what)
        self.pause = pause


class Endpoint:
    """One model of one endpoint. Threads may share it and keep to `requests_per_minute` together."""

    def __init__(self, base_url: str, model: str, key_variable: str | None, requests_per_minute: float) -> None:
        self.url, self.model = f"{base_url.rstrip('/')}/chat/completions", model
        self._key = os.environ.get(key_variable, "") if key_variable else ""
        if key_variable and not self._key:
            raise UserError(f"key_variable: the environment has no {key_variable}. Set it to the endpoint's key.")
        self._between, self._next, self._lock = 60.0 / requests_per_minute, 0.0, threading.Lock()

    def answer(self, system: str, user: str, max_tokens: int) -> str:
        """The model's answer, stripped. UserError if it refuses, or still fails after 6 attempts."""
        body = {
            "model": self.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "max_tokens": max_tokens,
            "temperature": 0,
        }
        fault, pause = "", FIRST_PAUSE_S
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(pause)
            self._wait_for_turn()
            try:
                return self._request(body)
            except _PassingError as error:
                fault = str(error)
                pause = min(LONGEST_PAUSE_S, max(error.pause, FIRST_PAUSE_S * 2**attempt))
        raise UserError(
            f"{self.url}: {fault}, {ATTEMPTS} times one after the other. "
            "What was answered so far is kept: run again when the endpoint works."
        )

    def _wait_for_turn(self) -> None:
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._between
        time.sleep(turn - now)

    def _request(self, body: dict[str, Any]) -> str:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        try:  # a redirect would carry the key to another host
            answer = requests.post(self.url, json=body, headers=headers, timeout=TIMEOUT_S, allow_redirects=False)
        except requests.RequestException as error:  # refused, reset, timed out or cut off
            raise _PassingError(f"no answer ({redact_secrets(error, self._key)})") from None
        if answer.status_code != 200:
            raise self._response_error(answer)
        try:
            return str(answer.json()["choices"][0]["message"]["content"] or "").strip()
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            raise _PassingError(f"an answer that is not a chat completion ({error!r})") from None

    def _response_error(self, answer: requests.Response) -> Exception:
        said = redact_secrets(" ".join(answer.text.split()) or answer.reason, self._key)[:200]
        what = f"status {answer.status_code} ({said})"
        if answer.status_code == 429 or answer.status_code >= 500:
            return _PassingError(what, _seconds(answer.headers.get("Retry-After")))
        return UserError(f"{self.url}: {what}. Correct `base_url:`, `model:`, or the key that `key_variable:` names.")


def _seconds(retry_after: str | None) -> float:
    try:
        return max(0.0, float(retry_after or 0))
    except ValueError:  # a date: the usual pause will do
        return 0.0
