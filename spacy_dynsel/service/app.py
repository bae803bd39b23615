"""The page and the JSON API, as an ASGI application."""

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from spacy.language import Language
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from ..about import __version__
from ..base.service_errors import ServiceErrors
from ..report.walk import check_components
from . import results
from .annotator import DEFAULT_QUEUE_SIZE, Annotator, BusyError
from .knobs import Knobs, get_branches, read_knobs
from .page import render_page

DEFAULT_MAX_BYTES = 1_000_000
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "[::1]")
# How many texts one request may hold, and what the page takes: explaining is slow.
MOST_TEXTS = 10_000
MOST_VIEWED = 5_000


class RefusedError(ValueError):
    """A request that can't be answered.

    status (int): The status of HTTP.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def make_app(
    nlp: Language,
    *,
    name: str = "",
    max_bytes: int = DEFAULT_MAX_BYTES,
    queue_size: int = DEFAULT_QUEUE_SIZE,
    hosts: Sequence[str] = LOCAL_HOSTS,
) -> Starlette:
    """Make the application.

    nlp (Language): The pipeline, which nobody else may use meanwhile.
    name (str): What to call it on the page.
    max_bytes (int): How long a request may be.
    queue_size (int): How many requests may wait.
    hosts (Sequence[str]): By which names it may be asked for. Others are refused, so that
        no page of the web reaches it under a name of its own.
    """
    check_components(nlp)
    service = Service(nlp, name or _find_name(nlp), max_bytes, queue_size)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.open()
        try:
            yield
        finally:
            await asyncio.to_thread(service.close)

    return Starlette(
        routes=[
            Route("/", service.show_page),
            Route("/health", service.report_health),
            Route("/annotate", service.annotate, methods=["POST"]),
            Route("/view", service.view, methods=["POST"]),
            Route("/explain", service.explain, methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
        lifespan=lifespan,
    )


class Service:
    """What the routes lead to."""

    def __init__(
        self, nlp: Language, name: str, max_bytes: int, queue_size: int
    ) -> None:
        self.nlp = nlp
        self.name = name
        self.max_bytes = max_bytes
        self.queue_size = queue_size
        self._annotator: Annotator | None = None

    def open(self) -> None:
        self._annotator = Annotator(self.nlp, queue_size=self.queue_size)

    def close(self) -> None:
        if self._annotator is not None:
            self._annotator.close()

    async def show_page(self, request: Request) -> Response:
        """The page. The header keeps it from asking anybody but this server."""
        nonce = secrets.token_urlsafe(16)
        page = render_page(self.name, self.nlp.lang, get_branches(self.nlp), nonce)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; connect-src 'self'; "
            "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'"
        )
        headers = {"content-security-policy": policy, "referrer-policy": "no-referrer"}
        return HTMLResponse(page, headers=headers)

    async def report_health(self, request: Request) -> Response:
        annotator = self._annotator
        return JSONResponse(
            {
                "status": "ok",
                "pipeline": self.name,
                "components": self.nlp.pipe_names,
                "version": __version__,
                "waiting": annotator.n_waiting if annotator else 0,
                "done": annotator.n_done if annotator else 0,
            }
        )

    async def annotate(self, request: Request) -> Response:
        """Annotate `text`, or each of `texts`. Plain text is a text too."""

        def make_job(values: dict[str, Any]) -> Callable[[Language], Any]:
            knobs = read_knobs(values)
            if "texts" in values:
                texts = _read_texts(values["texts"])
                return lambda nlp: {
                    "docs": [results.annotate(nlp, text, knobs) for text in texts]
                }
            text = _read_text(values)
            return lambda nlp: results.annotate(nlp, text, knobs)

        return await self._answer(request, make_job)

    async def view(self, request: Request) -> Response:
        """What the page shows."""

        def make_job(values: dict[str, Any]) -> Callable[[Language], Any]:
            knobs, text = self._read_viewed(values)
            return lambda nlp: results.view(nlp, text, knobs)

        return await self._answer(request, make_job)

    async def explain(self, request: Request) -> Response:
        """What decided about the token of a text that has a number."""

        def make_job(values: dict[str, Any]) -> Callable[[Language], Any]:
            knobs, text = self._read_viewed(values)
            number: Any = values.get("token")

            def job(nlp: Language) -> Any:
                n_tokens = len(nlp.make_doc(text))
                is_number = isinstance(number, int) and not isinstance(number, bool)
                if not is_number or not 0 <= number < n_tokens:
                    what = f"a whole number from 0 to {n_tokens - 1}"
                    raise ValueError(
                        ServiceErrors.DS332.format(
                            name="token", value=number, what=what
                        )
                    )
                return {"explained": results.explain(nlp, text, knobs, number)}

            return job

        return await self._answer(request, make_job)

    def _read_viewed(self, values: dict[str, Any]) -> tuple[Knobs, str]:
        text = _read_text(values)
        if len(text) > MOST_VIEWED:
            raise RefusedError(
                413, ServiceErrors.DS335.format(most=MOST_VIEWED, unit="characters")
            )
        return read_knobs(values), text

    async def _answer(
        self,
        request: Request,
        make_job: Callable[[dict[str, Any]], Callable[[Language], Any]],
    ) -> Response:
        """Read a request, let the annotating thread do what it asks for, and write what
        comes of it, or what is wrong with it."""
        assert self._annotator is not None
        try:
            values = _read_values(request, await self._read_body(request))
            job = make_job(values)
            found = await asyncio.wrap_future(self._annotator.submit(job))
            return JSONResponse(found)
        except RefusedError as error:
            return JSONResponse({"error": str(error)}, status_code=error.status)
        except BusyError as error:
            headers = {"retry-after": "1"}
            return JSONResponse({"error": str(error)}, status_code=503, headers=headers)
        except ValueError as error:
            # Errors without a code are our own mistakes.
            if not re.match(r"\[\w+\]", str(error)):
                raise
            return JSONResponse({"error": str(error)}, status_code=400)

    async def _read_body(self, request: Request) -> bytes:
        """The body, of which no more is read than is allowed."""
        refused = RefusedError(
            413, ServiceErrors.DS335.format(most=self.max_bytes, unit="bytes")
        )
        announced = request.headers.get("content-length", "0")
        if announced.isdigit() and int(announced) > self.max_bytes:
            raise refused
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self.max_bytes:
                raise refused
        return bytes(body)


def _find_name(nlp: Language) -> str:
    return f"{nlp.meta.get('lang', '')}_{nlp.meta.get('name', 'pipeline')}"


def _read_values(request: Request, body: bytes) -> dict[str, Any]:
    """What a request says: JSON, or plain text."""
    try:
        text = body.decode("utf8")
    except UnicodeDecodeError as error:
        raise ValueError(
            ServiceErrors.DS336.format(reason=f"not UTF-8: {error}")
        ) from error
    if request.headers.get("content-type", "").startswith("text/plain"):
        return {"text": text}
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            ServiceErrors.DS336.format(reason=f"not JSON: {error}")
        ) from error
    if not isinstance(values, dict):
        raise ValueError(ServiceErrors.DS336.format(reason="not a JSON object"))
    return values


def _read_text(values: dict[str, Any]) -> str:
    [text] = _read_texts([values.get("text")])
    return text


def _read_texts(texts: Any) -> list[str]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        reason = "'text' must be a string, or 'texts' a list of strings"
        raise ValueError(ServiceErrors.DS336.format(reason=reason))
    if len(texts) > MOST_TEXTS:
        raise RefusedError(
            413, ServiceErrors.DS335.format(most=MOST_TEXTS, unit="texts")
        )
    for text in texts:
        try:
            text.encode("utf8")
        except UnicodeEncodeError as error:
            reason = "lone surrogates are no characters"
            raise ValueError(ServiceErrors.DS336.format(reason=reason)) from error
    return texts
