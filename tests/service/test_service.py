"""The server: what it answers, what it refuses, and that one thread annotates."""

import http.client
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import spacy
import uvicorn
from typer.testing import CliRunner

from helpers.little_pipeline import make_pipeline
from helpers.paths import PYTHONPATH
from spacy_dynsel.cli import dynsel_cli
from spacy_dynsel.service.annotator import Annotator, BusyError
from spacy_dynsel.service.app import MOST_VIEWED, make_app
from spacy_dynsel.service.knobs import Knobs, read_knobs, turned

TEXT = "Ann saw York ."
MAX_BYTES = 20_000


@pytest.fixture(scope="module")
def nlp():
    return make_pipeline()


@pytest.fixture(scope="module")
def port():
    """A server on a free port, with a pipeline of its own."""
    app = make_app(make_pipeline(), name="little", max_bytes=MAX_BYTES)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


def ask(port, path, body=None, content_type="application/json", host=None):
    """Status and answer of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"content-type": content_type}
    if host:
        headers["host"] = host
    if body is None:
        connection.request("GET", path, headers=headers)
    else:
        data = body if isinstance(body, bytes) else json.dumps(body)
        connection.request("POST", path, body=data, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode("utf8")
    connection.close()
    is_json = answer.headers["content-type"] == "application/json"
    return answer.status, json.loads(text) if is_json else text


def test_health(port):
    status, found = ask(port, "/health")
    assert status == 200
    assert found["status"] == "ok"
    assert found["pipeline"] == "little"
    assert found["components"] == ["dynsel_tagger", "dynsel_parser", "dynsel_ner"]


def test_annotation_is_that_of_the_pipeline(nlp, port):
    status, found = ask(port, "/annotate", {"text": TEXT})
    doc = nlp(TEXT)
    assert status == 200
    assert [token["tag"] for token in found["tokens"]] == [token.tag_ for token in doc]
    assert [token["head"] for token in found["tokens"]] == [t.head.i for t in doc]
    assert [(e["text"], e["label"]) for e in found["ents"]] == [
        (ent.text, ent.label_) for ent in doc.ents
    ]
    assert [doc.text[t["start"] : t["end"]] for t in found["tokens"]] == [
        token.text for token in doc
    ]
    assert found["sents"] == [[sent.start, sent.end] for sent in doc.sents]
    assert found["microseconds"] > 0


def test_several_texts_and_plain_text(port):
    _, one = ask(port, "/annotate", {"text": TEXT})
    status, found = ask(port, "/annotate", {"texts": [TEXT, "", TEXT]})
    assert status == 200
    assert [len(doc["tokens"]) for doc in found["docs"]] == [4, 0, 4]
    assert found["docs"][2]["tokens"] == one["tokens"]
    status, plain = ask(port, "/annotate", TEXT.encode(), "text/plain")
    assert (status, plain["tokens"]) == (200, one["tokens"])
    assert ask(port, "/annotate", {"texts": []}) == (200, {"docs": []})


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "DS336"),
        (b"{", 400, "DS336"),
        (b'{"text": "\xff"}', 400, "DS336"),
        (b"[" * 5000, 400, "DS336"),
        ([TEXT], 400, "DS336"),
        ({}, 400, "DS336"),
        ({"text": 3}, 400, "DS336"),
        ({"texts": TEXT}, 400, "DS336"),
        ({"text": "\ud800"}, 400, "DS336"),
        ({"text": TEXT, "margin": -1}, 400, "DS332"),
        ({"text": TEXT, "margin": True}, 400, "DS332"),
        ({"text": TEXT, "margin": [1]}, 400, "DS332"),
        ({"text": TEXT, "branches": 1.5}, 400, "DS332"),
        ({"text": TEXT, "branches": 1000}, 400, "DS332"),
        ({"text": "a " * MAX_BYTES}, 413, "DS335"),
        ({"texts": [""] * 10_001}, 413, "DS335"),
    ],
)
def test_bad_requests(port, body, status, code):
    found_status, found = ask(port, "/annotate", body)
    assert found_status == status
    assert re.match(rf"\[{code}\] ", found["error"])
    # And the server goes on.
    assert ask(port, "/annotate", {"text": TEXT})[0] == 200


def test_a_long_body_of_unknown_length_is_refused(port):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    parts = iter([b"a" * 10_000] * 5)
    connection.request("POST", "/annotate", body=parts, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_view_says_how_much_work_it_was(nlp, port):
    status, found = ask(port, "/view", {"text": TEXT, "margin": 0, "branches": 0})
    assert status == 200
    assert len(found["shares"]) == len(found["tokens"]) == 4
    assert all(0 <= share <= 1 for share in found["shares"])
    _, full = ask(port, "/view", {"text": TEXT, "margin": "all"})
    assert full["templates"] > found["templates"]
    assert full["changed"] == []
    assert "<mark" in full["entities_html"]
    assert len(full["trees_html"]) == len(list(nlp(TEXT).sents))
    assert ask(port, "/view", {"text": ""})[1]["tokens"] == []
    status, found = ask(port, "/view", {"text": "a" * (MOST_VIEWED + 1)})
    assert (status, found["error"][:7]) == (413, "[DS335]")


def test_what_is_shown_is_escaped(port):
    _, found = ask(port, "/view", {"text": "<script>alert(1)</script> York"})
    shown = found["entities_html"] + "".join(found["trees_html"])
    assert "<script" not in shown


def test_explain(nlp, port):
    status, found = ask(port, "/explain", {"text": TEXT, "token": 1})
    assert status == 200
    assert [one["component"] for one in found["explained"]] == nlp.pipe_names
    assert found["explained"][0]["reasons"]
    for token in (-1, 4, None, "1", True):
        status, found = ask(port, "/explain", {"text": TEXT, "token": token})
        assert (status, found["error"][:7]) == (400, "[DS332]")
    assert ask(port, "/explain", {"text": "", "token": 0})[0] == 400


def test_the_page_asks_nobody_else(port):
    status, page = ask(port, "/")
    assert status == 200
    assert not re.findall(r"(?:https?:)?//[\w.]+", page)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/")
    policy = connection.getresponse().headers["content-security-policy"]
    connection.close()
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    # A page of the web that calls this machine by a name of its own.
    assert ask(port, "/health", host="evil.example")[0] == 400


def test_knobs_are_turned_back(nlp):
    def read():
        parser = nlp.get_pipe("dynsel_parser")
        margins = [nlp.get_pipe(name).margin for name in nlp.pipe_names]
        return [*margins, parser.label_margin, parser.branches]

    before = read()
    with turned(nlp, Knobs(0.5, 3)):
        assert read() != before
        assert read()[0] == before[0] / 2
        assert nlp.get_pipe("dynsel_parser").branches == 3
    assert read() == before
    with pytest.raises(KeyError), turned(nlp, Knobs(math.inf, 0)):
        assert math.isinf(nlp.get_pipe("dynsel_ner").margin)
        raise KeyError
    assert read() == before
    assert read_knobs({"margin": None, "branches": None}) == Knobs()


def test_one_thread_annotates_in_zones():
    nlp = make_pipeline()
    annotator = Annotator(nlp, queue_size=4)
    n_strings = len(nlp.vocab.strings)
    threads = set()

    def job(one):
        def work(nlp):
            threads.add(threading.get_ident())
            return [token.text for token in nlp(f"new{one}")]

        return work

    for i in range(40):
        assert annotator.submit(job(i)).result() == [f"new{i}"]
    assert len(threads) == 1
    assert len(nlp.vocab.strings) == n_strings

    def fail(nlp):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        annotator.submit(fail).result()
    assert annotator.submit(job(1)).result() == ["new1"]
    annotator.close()
    annotator.close()
    with pytest.raises(BusyError, match="DS334"):
        annotator.submit(job(1))


def test_a_full_queue_refuses():
    nlp = make_pipeline()
    annotator = Annotator(nlp, queue_size=2)
    started, go_on = threading.Event(), threading.Event()

    def block(nlp):
        started.set()
        go_on.wait(10)
        return 1

    futures = [annotator.submit(block)]
    started.wait(10)
    futures += [annotator.submit(lambda nlp: 2) for _ in range(2)]
    with pytest.raises(BusyError, match="DS333"):
        annotator.submit(lambda nlp: 3)
    go_on.set()
    annotator.close()
    # What was waiting is done.
    assert [future.result(0) for future in futures] == [1, 2, 2]


def test_a_pipeline_without_our_components():
    with pytest.raises(ValueError, match="DS161"):
        make_app(spacy.blank("en"))


def test_a_port_in_use(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        used = str(other.getsockname()[1])
        result = CliRunner().invoke(
            dynsel_cli, ["serve", str(tmp_path), "--port", used]
        )
    assert result.exit_code == 1
    assert "DS331" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_in_a_browser(port, width):
    """It shows the annotation of its example, and nothing is wider than the window."""
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next((found for one in names if (found := shutil.which(one))), None)
    if browser is None:
        pytest.skip("needs Chromium")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--window-size={width},900", "--virtual-time-budget=5000"]
    result = subprocess.run(
        [*command, f"http://127.0.0.1:{port}/"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    page = result.stdout
    assert len(re.findall(r'<button class="word', page)) == 18
    assert re.search(r'id="latency">\d+<', page)
    assert re.search(r'id="error" role="alert" hidden', page)
    assert '<svg class="tree"' in page


@pytest.mark.slow
def test_the_command_serves_and_stops(tmp_path):
    make_pipeline().to_disk(tmp_path / "little")
    command = [
        sys.executable,
        "-m",
        "spacy",
        "dynsel",
        "serve",
        "little",
        "--port",
        "0",
    ]
    env = {**os.environ, "PYTHONPATH": PYTHONPATH, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=env, cwd=tmp_path
    ) as process:
        line = process.stdout.readline()
        found = int(re.search(r":(\d+) ", line)[1])
        for _ in range(100):
            try:
                assert ask(found, "/annotate", {"text": TEXT})[0] == 200
                break
            except ConnectionError:
                time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
