"""URLs in parameters: https, or http to this machine alone, and without a password."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

LOCAL = ("localhost", "127.0.0.1", "::1")


def check_url(url: str) -> str:
    """The URL. ValueError, which does not repeat it, for one that sends data in the open or holds a password."""
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise ValueError("holds a name or a password, which would be in logs. Take it out: `key_variable:` names a key")
    if not parts.hostname or (parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOCAL)):
        raise ValueError(
            "must begin with https://, or with http:// for this machine: `ssh -L 8000:localhost:8000 HOST` "
            "brings another one here"
        )
    return url


Address = Annotated[str, AfterValidator(check_url)]
