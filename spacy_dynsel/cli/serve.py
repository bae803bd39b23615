"""A local page and a JSON API to try a pipeline on."""

import socket
from typing import Any

from spacy.cli._util import Arg, Opt
from spacy.util import load_model
from wasabi import msg

from ..base.service_errors import ServiceErrors
from .group import dynsel_cli

DEFAULT_PIPELINE = "en_dynsel_web"
LOOPBACK = "127.0.0.1"


@dynsel_cli.command("serve")
def serve_cli(
    pipeline: str = Arg(DEFAULT_PIPELINE, help="Name or path of the pipeline"),
    host: str = Opt(LOOPBACK, "--host", help="Address to listen on"),
    port: int = Opt(
        8080, "--port", "-p", min=0, max=65535, help="Port, 0 for a free one"
    ),
    max_bytes: int = Opt(1_000_000, "--max-bytes", min=1, help="Longest request"),
    queue: int = Opt(64, "--queue", min=1, help="How many requests may wait"),
) -> None:
    """
    Serve a page on which you can try a pipeline, and a JSON API: POST /annotate with
    'text' or 'texts', GET /health. Only this machine is served unless you name another
    address. Needs the extra 'serve'.
    """
    try:
        # Only this command needs the extra.
        import uvicorn  # noqa: PLC0415

        from ..service.app import LOCAL_HOSTS, make_app  # noqa: PLC0415
    except ImportError as error:
        raise ValueError(ServiceErrors.DS337) from error
    listening = listen(host, port)
    with listening:
        app = make_app(
            load_model(pipeline),
            name=pipeline,
            max_bytes=max_bytes,
            queue_size=queue,
            hosts=LOCAL_HOSTS if host == LOOPBACK else ("*",),
        )
        address, used = listening.getsockname()[:2]
        msg.good(f"{pipeline} at http://{address}:{used} (stop with Ctrl+C)")
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        try:
            uvicorn.Server(config).run(sockets=[listening])
        except KeyboardInterrupt:
            # It has answered what waited, and says so once more.
            msg.good("Stopped")


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, before the pipeline is loaded: a port in use is said at
    once."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening: Any = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ValueError(
            ServiceErrors.DS331.format(host=host, port=port, reason=error)
        ) from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise ValueError(
            ServiceErrors.DS331.format(host=host, port=port, reason=error.strerror)
        ) from error
    return listening
