"""The server without a browser: who is let in, what is answered, tabs beside each other, and what a kill loses."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
client = pytest.importorskip("websockets.sync.client")
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402

from lapmodes import LaplacianKModes  # noqa: E402
from lapmodes.explore.server import running  # noqa: E402
from lapmodes.explore.study import study_of  # noqa: E402
from lapmodes.explore.worker import Explorer  # noqa: E402

NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def study(groups, base):
    kinds = [NASTY if i % 7 == 0 else f"kind {i % 3}" for i in range(80)]
    names = [f"<script>{NASTY}</script>", "b", "c"]
    study = study_of(base.model, groups, title=f"data {NASTY}", feature_names=names, described_by={"kind": kinds})
    object.__setattr__(study, "base", base)  # with few levels
    return study


@pytest.fixture
def server(study):
    with running(Explorer(study, ahead=False)) as server:
        yield server


def ask(server, path, *, host=None, origin=None, method="GET", body=None):
    """A request as raw as it gets: (status, headers, body)."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{server.port}")
    if origin is not None:
        connection.putheader("Origin", origin)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def get(server, question, **query):
    words = "&".join(f"{name}={value}" for name, value in query.items())
    return ask(server, f"/{server.token}/{question}?{words}")


def get_json(server, question, **query):
    status, _, body = get(server, question, **query)
    assert status == 200, body
    return json.loads(body)


@contextmanager
def tab(server, **options):
    """A page's connection."""
    options = {"origin": f"http://127.0.0.1:{server.port}"} | options
    with client.connect(f"ws://127.0.0.1:{server.port}/{server.token}/live", max_size=None, **options) as socket:
        yield socket


def hear(socket, kind="state", **expected):
    """The next message of a kind, with these values."""
    while True:
        told = socket.recv(timeout=30)
        message = {"kind": "shares", "bytes": told} if isinstance(told, bytes) else json.loads(told)
        if message["kind"] == kind and all(message[name] == value for name, value in expected.items()):
            return message


def do(socket, at, **act):
    socket.send(json.dumps({"kind": "do", "at": at, "act": act}))
    return hear(socket, version=at + 1)


# ---- who is let in


def test_the_page_needs_the_token(server):
    assert ask(server, f"/?token={server.token}")[0] == 200
    for path in ("/", "/?token=", "/?token=wrong", f"/?token={server.token}x", f"/?x={server.token}", "/index.html"):
        assert ask(server, path)[0] == 403, path


@pytest.mark.parametrize("what", ["about", "state", "positions", "assets/app.js", "live", "csv"])
def test_everything_needs_the_token(server, what):
    assert ask(server, f"/wrong/{what}")[0] == 403
    assert ask(server, f"/{server.token[:-1]}/{what}")[0] == 403
    assert ask(server, f"/{what}")[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", "[::1]"])
def test_another_host_is_refused(server, host):
    assert ask(server, f"/?token={server.token}", host=host)[0] == 421


def test_localhost_is_the_same_machine(server):
    assert ask(server, f"/?token={server.token}", host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_another_origin_is_refused(server, origin):
    assert ask(server, f"/{server.token}/about", origin=origin)[0] == 403
    with pytest.raises((InvalidStatus, ConnectionClosed)), tab(server, origin=origin) as socket:
        socket.recv(timeout=5)


def test_a_socket_without_origin_is_refused(server):
    with pytest.raises((InvalidStatus, ConnectionClosed)), tab(server, origin=None) as socket:
        socket.recv(timeout=5)


def test_the_page_may_only_load_from_itself(server):
    headers = ask(server, f"/?token={server.token}")[1]
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "assets/../server.py",
        "assets/..%2fserver.py",
        "assets/%2e%2e/%2e%2e/server.py",
        "assets//etc/passwd",
        "assets/explore.html",
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "assets/",
        "no-such-thing",
        "__init__.py",
        "assets/app.js%00.png",
    ],
)
def test_no_other_file_is_served(server, path):
    status, _, body = ask(server, f"/{server.token}/{path}")
    assert status in (403, 404)
    assert b"root:" not in body and b"import" not in body


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(server, method):
    assert ask(server, f"/{server.token}/about", method=method)[0] == 405


def test_names_are_text(server):
    page = ask(server, f"/?token={server.token}")[2].decode()
    assert NASTY not in page and "&lt;img" in page
    about = get_json(server, "about")
    assert about["columns"][0] == f"<script>{NASTY}</script>"
    assert get(server, "about")[1]["content-type"] == "application/json"


# ---- what is answered


def test_places_and_shares(server, study):
    status, headers, body = get(server, "positions", view="first")
    about = json.loads(headers["x-about"])
    assert status == 200 and about["key"] == "components"
    assert np.array_equal(np.frombuffer(body, "<f4").reshape(-1, 2), study.first_view.positions)
    body = get(server, "shares", version=0)[2]
    assert len(body) == 6 * 80
    assert np.array_equal(np.frombuffer(body, "<u2", 80), study.base.model.labels_)
    marks = get_json(server, "modes", view="first", version=0)
    assert len(marks["modes"]) == 3
    assert np.allclose(marks["exemplars"], study.first_view.positions[study.base.model.exemplars_])
    assert len(get(server, "density")[2]) == 80
    assert get(server, "positions", view="columns:0,1")[0] == 200
    members = np.frombuffer(get(server, "members", cluster=1, version=0)[2], "<u4")
    assert np.array_equal(members, np.flatnonzero(study.base.model.labels_ == 1))


def test_rows_tables_and_files(server, study):
    row = get_json(server, "row", i=7, version=0)
    assert ["kind", NASTY] in row["values"]
    assert sum(each["share"] for each in row["shares"]) == pytest.approx(1)
    body = np.array([3, 5, 4], dtype="<u4").tobytes()
    table = json.loads(ask(server, f"/{server.token}/table?version=0&sort=4&down=1", method="POST", body=body)[2])
    assert table["header"][:4] == ["cluster", "share", "kind", f"<script>{NASTY}</script>"]
    values = study.content.rows[table["rows"], 0]
    assert sorted(table["rows"]) == [3, 4, 5] and (np.diff(values) <= 0).all()
    status, headers, text = ask(server, f"/{server.token}/csv?version=0", method="POST", body=body)
    assert status == 200 and "attachment" in headers["content-disposition"]
    assert len(text.decode().splitlines()) == 4
    found = get(server, "search", q="kind%201")[2]
    assert np.array_equal(
        np.frombuffer(found, "u1") > 0, [value == "kind 1" for value in study.content.described_by["kind"]]
    )


def test_a_spreadsheet_gets_no_formula(groups, base):
    study = study_of(base.model, groups, described_by={"note": ["=HYPERLINK(1)"] * 80})
    assert "'=HYPERLINK(1)" in study.as_csv(np.array([0]), base.first_state())


def test_clusters_and_rows_to_check(server):
    clusters = get_json(server, "clusters", version=0)
    assert len(clusters) == 3 and all(each["values"] for each in clusters)
    for what in ("uncertain", "outliers"):
        rows = get_json(server, "review", what=what, version=0)
        scores = [each["score"] for each in rows]
        assert rows and scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("colour", ["cluster", "soft", "density", "entropy", "column:0", "column:3", "search:kind"])
def test_a_raster_in_every_colour(server, colour):
    status, headers, body = get(
        server,
        "raster",
        version=0,
        view="first",
        colour=colour,
        left=-9,
        right=9,
        bottom=-9,
        top=9,
        width=90,
        height=60,
    )
    about = json.loads(headers["x-about"])
    assert status == 200 and len(body) == 4 * about["width"] * about["height"]
    assert np.frombuffer(body, "u1").reshape(-1, 4)[:, 3].any()


def test_near_and_inside(server, study):
    x, y = study.first_view.positions[11].astype(float)
    assert get_json(server, "near", view="first", x=x, y=y, across=0.1, up=0.1)["row"] == 11
    corners = np.array([[x - 1e-3, y - 1e-3], [x + 1e-3, y - 1e-3], [x, y + 2e-3]], dtype="<f4")
    rows = ask(server, f"/{server.token}/inside?view=first", method="POST", body=corners.tobytes())[2]
    assert 11 in np.frombuffer(rows, "<u4")
    places = ask(server, f"/{server.token}/places?view=first", method="POST", body=np.array([11], "<u4").tobytes())[2]
    assert np.array_equal(np.frombuffer(places, "<f4"), study.first_view.positions[11])


@pytest.mark.parametrize(
    "path",
    [
        "shares",
        "shares?version=-1",
        "shares?version=1e3",
        "row?i=80&version=0",
        "row?i=nan&version=0",
        "column?i=99",
        "modes?version=0&view=columns:0",
        "modes?version=0&view=columns:x,y",
        "raster?version=0&left=0&right=0&bottom=0&top=1&width=9&height=9",
        "raster?version=0&left=0&right=inf&bottom=0&top=1&width=9&height=9",
        "raster?version=0&left=0&right=1&bottom=0&top=1&width=99999&height=9",
        "raster?version=0&left=0&right=1&bottom=0&top=1&width=9&height=9&colour=__class__",
        "near?x=1",
        "picture?row=1",
        "positions?view=columns:0,99",
        "positions?view=neighbours",
        "shares?version=99",
    ],
)
def test_bad_questions_get_a_sentence(server, path):
    status, _, body = ask(server, f"/{server.token}/{path}")
    assert status in (400, 404)
    assert b"Traceback" not in body


@pytest.mark.parametrize("what", ["table", "csv", "inside"])
@pytest.mark.parametrize("body", [b"", b"123", np.array([80], "<u4").tobytes(), np.full(6, np.nan, "<f4").tobytes()])
def test_bad_bodies_get_a_sentence(server, what, body):
    assert ask(server, f"/{server.token}/{what}?version=0&view=first", method="POST", body=body)[0] == 400


def test_a_body_that_is_too_large_is_refused(server):
    assert ask(server, f"/{server.token}/csv?version=0", method="POST", body=bytes(4 * 200_001))[0] == 413
    assert ask(server, f"/{server.token}/{'x' * 5000}")[0] == 414


# ---- acts


def test_acts_change_the_state_of_all_tabs(server, study):
    with tab(server) as one, tab(server) as other:
        assert hear(one)["version"] == hear(other)["version"] == 0
        state = do(one, 0, kind="turn", knob="lam", notch=1)
        assert hear(other, version=1)["acts"] == state["acts"]
        assert np.isclose(server.explorer.state.model.lam_, study.base.model.lam_ * 2**0.5)
        state = do(one, 1, kind="label", rows=[0, 1], cluster=2)
        assert (server.explorer.state.labels[:2] == 2).all() and state["decided"] == 2
        state = do(one, 2, kind="name", cluster=0, name=NASTY)
        assert state["clusters"][0]["name"] == NASTY
        one.send(json.dumps({"kind": "undo", "at": 3}))
        assert hear(one, version=4)["done"] == 2
        one.send(json.dumps({"kind": "redo", "at": 4}))
        assert hear(one, version=5)["clusters"][0]["name"] == NASTY
        assert get_json(server, "state")["version"] == 5  # a page that is loaded again


def test_shares_come_by_themselves(server):
    with tab(server) as one:
        hear(one)
        one.send(json.dumps({"kind": "do", "at": 0, "act": {"kind": "split", "cluster": 0, "parts": 2}}))
        told = hear(one, "shares")["bytes"]
        assert np.frombuffer(told[:8], "<f8") == 1
        assert told[8:] == get(server, "shares", version=1)[2]


def test_a_tab_that_is_behind_changes_nothing(server):
    with tab(server) as one, tab(server) as other:
        do(one, 0, kind="split", cluster=0, parts=2)
        other.send(json.dumps({"kind": "do", "at": 0, "act": {"kind": "merge", "one": 0, "other": 1}}))
        refused = hear(other, "refused")
        assert refused["stale"]
        state = hear(other, version=1)
        assert len(state["clusters"]) == 4 and server.explorer.state.n_clusters == 4
        assert len(server.explorer.session.acts) == 1


def test_what_changed_is_told(server):
    with tab(server) as one:
        change = do(one, 0, kind="split", cluster=0, parts=2)["change"]
        assert change["split"] == [0] and change["n_clusters"] == [3, 4] and change["before"] == 0
        change = do(one, 1, kind="merge", one=0, other=3)["change"]
        assert change["n_clusters"] == [4, 3] and len(change["merged"]) == 1
        assert change["objective"][1] == server.explorer.state.model.objective_
        assert get(server, "shares", version=change["before"])[0] == 200


def test_an_act_that_fails_is_said_to_the_one_who_asked(server):
    with tab(server) as one:
        one.send(json.dumps({"kind": "do", "at": 0, "act": {"kind": "level", "n_clusters": 70}}))
        assert "no level of 70" in hear(one, "refused")["why"]
        one.send(json.dumps({"kind": "do", "at": 0, "act": {"kind": "leave_out", "rows": list(range(79))}}))
        assert "fewer" in hear(one, "refused")["why"]
        assert do(one, 0, kind="hide", cluster=1, hidden=True)["clusters"][1]["hidden"]


def test_a_fit_can_be_stopped(study):
    explorer = Explorer(study, ahead=False)
    entered = threading.Event()

    def wait(hook):
        def slow(*step):
            entered.set()
            time.sleep(0.02)
            return hook(*step)

        return slow

    plain = explorer._hook
    explorer._hook = lambda what: wait(plain(what))
    with running(explorer) as server, tab(server) as one:
        one.send(json.dumps({"kind": "do", "at": 0, "act": {"kind": "turn", "knob": "lam", "notch": 16}}))
        assert entered.wait(20)
        one.send(json.dumps({"kind": "stop", "what": "fit"}))
        hear(one, "stopped")
        assert explorer.session.acts == [] and explorer.version == 0


def test_places_by_neighbours_come_when_they_are_asked_for(server):
    pytest.importorskip("openTSNE")
    with tab(server) as one:
        assert get(server, "positions", view="neighbours")[0] == 404
        one.send(json.dumps({"kind": "map", "key": "neighbours"}))
        hear(one, "map", ready=True)
        assert len(get(server, "positions", view="neighbours")[2]) == 8 * 80


def test_levels_are_computed_ahead(groups):
    model = LaplacianKModes(3, random_state=0, n_jobs=1).fit(groups)
    study = study_of(model, groups)
    object.__setattr__(study.base, "levels", (2, 3, 4))
    with running(Explorer(study)) as server, tab(server) as one:
        hear(one, "levels")
        assert study.base.has_layers
        assert len(do(one, 0, kind="level", n_clusters=4)["clusters"]) == 4


MESSAGES = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=60),
    st.builds(
        lambda head, tail: json.dumps({"kind": head} | tail),
        st.sampled_from(["do", "undo", "redo", "stop", "map", "save", "sync", "x"]),
        st.dictionaries(st.sampled_from(["at", "act", "what", "key"]), st.none() | st.integers() | st.text(max_size=9)),
    ),
    st.builds(
        lambda kind, rest: json.dumps({"kind": "do", "at": 0, "act": {"kind": kind} | rest}),
        st.sampled_from(["turn", "level", "link", "label", "leave_out", "split", "merge", "name", "paint", "hide"]),
        st.dictionaries(
            st.sampled_from(["rows", "cluster", "knob", "notch", "one", "other", "name", "parts"]),
            st.none()
            | st.floats()
            | st.lists(st.integers(), max_size=3)
            | st.integers(max_value=-2)
            | st.text(max_size=5),
        ),
    ),
)


def test_5000_fuzzed_messages_change_nothing(server):
    """Each of fifty connections sends a hundred; the state is what it was, and the server still answers."""
    labels = server.explorer.state.labels.copy()
    sent = []

    @settings(max_examples=50, database=None)
    @given(st.lists(MESSAGES, min_size=100, max_size=100))
    def fuzz(messages):
        with tab(server) as socket:
            for message in messages:
                socket.send(message)
            sent.append(len(messages))
            socket.send(json.dumps({"kind": "sync"}))
            hear(socket)

    fuzz()
    assert sum(sent) >= 5000
    assert np.array_equal(server.explorer.state.labels, labels)
    with tab(server) as socket:
        version = hear(socket)["version"]
        assert do(socket, version, kind="name", cluster=0, name="still here")["clusters"][0]["name"] == "still here"


def test_an_oversized_message_ends_the_connection_only(server):
    with tab(server) as socket:
        socket.send("x" * (3 * 2**20))
        with pytest.raises(ConnectionClosed):
            hear(socket, "no such message")
    assert get(server, "state")[0] == 200


# ---- the process


COMMAND = "import sys; sys.argv[0] = 'lapmodes'; from lapmodes.cli import main; sys.exit(main())"


@contextmanager
def command(folder, *words, under=()):
    """A running `lapmodes explore`, and its address."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*under, sys.executable, "-c", COMMAND, "explore", *words, "--no-browser"],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("Explore at "):
                break
        else:
            raise AssertionError("".join(said))
        yield process, Address(line.removeprefix("Explore at ").strip()), said
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=20)
        process.stderr.close()


class Address:
    """The port and the token of an address, as the server in this process has them."""

    def __init__(self, url):
        self.port = int(url.split(":")[2].split("/")[0])
        self.token = url.partition("token=")[2]


@pytest.fixture
def table(tmp_path, groups):
    lines = ["a,b,c,kind", *(",".join([*map(str, row.round(4)), "xy"[i % 2]]) for i, row in enumerate(groups))]
    (tmp_path / "groups.csv").write_text("\n".join(lines))
    return tmp_path


def test_a_killed_server_loses_nothing_that_was_done(table):
    with command(table, "groups.csv", "-k", "3") as (process, server, _):
        with tab(server) as one:
            hear(one)
            do(one, 0, kind="split", cluster=1, parts=2)
            do(one, 1, kind="name", cluster=0, name="kept")
            state = get_json(server, "state")
            before = get(server, "shares", version=2)[2]
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=20)
    with command(table, "groups.csv", "-k", "3") as (process, server, said):
        assert any("Using the fit" in line for line in said)
        words = [sys.executable, "-c", COMMAND, "explore", "groups.lapmodes", "--no-browser"]
        other = subprocess.run(words, cwd=table, capture_output=True, text=True, check=False, timeout=60)
        assert other.returncode == 3 and "another process" in other.stderr
        again = get_json(server, "state")
        assert (again["acts"], again["done"]) == (state["acts"], 2)
        assert again["clusters"][0]["name"] == "kept"
        assert get(server, "shares", version=0)[2] == before
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
        assert "Ended." in process.stderr.read()
    with command(table, "groups.lapmodes", "--fresh") as (process, server, _):
        assert get_json(server, "state")["acts"] == []


def test_the_server_ends_with_its_parent(table):
    script = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); time.sleep(60)"
    with command(table, "groups.csv", "-k", "3", under=(sys.executable, "-c", script)) as (parent, server, _):
        assert get(server, "state")[0] == 200
        parent.send_signal(signal.SIGKILL)
        parent.wait(timeout=20)
        for _ in range(300):
            try:
                get(server, "state")
            except OSError:
                return
            time.sleep(0.1)
        raise AssertionError("the server still answers")
