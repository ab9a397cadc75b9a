"""Payloads that are read in blocks: the same answers and the same damage as one by one."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.stores.payload_json import to_json
from diffhash.stores.sqlite import payload_blocks as blocks
from diffhash.stores.sqlite.payload_blocks import PayloadBlock
from diffhash.stores.sqlite.payloads import payload_checksum

from .helpers import codes, forge, to_format_1

#: Texts that no payload has, though each is JSON, or is JSON together with the text after it.
STRANGE = {
    "halves of two objects": ('{"n":1},{"m":2', '"k":3}'),
    "two objects, and none": ('{"n":1},{"m":2}', ""),
    "a list over two texts": ('{"n":[1', "2]}"),
    "the end of the list": ('{"n":1}],[{"n":1}', '{"n":2}'),
    "a blank": ('{"n": 1}', '{"n":2}'),
    "a line break": ('{"n":1}\n', '{"n":2}'),
    "a field twice": ('{"n":1,"n":1}', '{"n":2}'),
    "an escape that is not needed": ('{"n":"\\u0041"}', '{"n":2}'),
    "a slash with a backslash": ('{"n":"\\/"}', '{"n":2}'),
    "a negative zero": ('{"n":-0}', '{"n":2}'),
    "a float as orjson writes it": ('{"n":1e22}', '{"n":2}'),
    "a float with zeros": ('{"n":1.50}', '{"n":2}'),
    "the first number beyond 64 bits": ('{"n":9223372036854775808}', '{"n":2}'),
    "a nested number beyond 64 bits": ('{"n":{"m":-9223372036854775809}}', '{"n":2}'),
    "101 levels": ('{"n":' + "[" * 101 + "]" * 101 + "}", '{"n":2}'),
    "a list": ("[1]", '{"n":2}'),
    "a byte order mark": ('\ufeff{"n":1}', '{"n":2}'),
}
USUAL = [
    {},
    {"n": -(2**63)},
    {"n": 2**63 - 1},
    {"n": 1e22, "m": 1e-7, "k": -0.0, "j": 0.1},
    {"n": {"m": [1, "a", None, True, {"k": "9" * 30}]}},
    {"n": '"\\/\b\f\n\r\t\x00\x1f\x7f\u2028é🙂', "9999999999999999999": "9999999999999999999"},
    {"n": None, "m": False},
]


@pytest.fixture(params=["orjson", "json"])
def _encoder(request, monkeypatch):
    if request.param == "json":
        monkeypatch.setattr(blocks, "orjson", None)
    elif blocks.orjson is None:
        pytest.skip("orjson is not installed")


def block_of(texts, format_=2):
    crcs = tuple(payload_checksum(format_, key, text) for key, text in enumerate(texts))
    return PayloadBlock(tuple(range(len(texts))), crcs, tuple(texts))


@pytest.mark.usefixtures("_encoder")
@pytest.mark.parametrize("texts", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("version", [1, 2])
def test_a_text_that_diffhash_never_writes_is_reported_with_its_key(path, collection, texts, version):
    """It stands between usual payloads of a second block, and all checksums are right."""
    n = 3 * blocks._BLOCK // 2
    collection.add_codes(codes(n), modality="x", payloads=[{"n": i} for i in range(n)])
    collection.close()
    if version == 1:
        to_format_1(path)
    first = n - 9
    forge(
        path,
        *[("UPDATE payloads SET payload = ? WHERE key = ?", (t, first + i)) for i, t in enumerate(texts)],
    )

    with dh.Collection.open(path) as opened:
        problems = opened.verify().problems

    assert any(f"payload {first} is" in problem for problem in problems)
    assert all(any(f"payload {first + i} is" in problem for i in range(2)) for problem in problems)


@pytest.mark.usefixtures("_encoder")
@pytest.mark.parametrize("format_", [1, 2])
def test_usual_payloads_are_parsed_and_canonical(format_):
    """Each alone and all together."""
    for payloads in [[payload] for payload in USUAL] + [USUAL]:
        parsed = block_of([to_json(payload) for payload in payloads], format_).parse(format_)

        assert parsed is not None
        assert parsed.payloads == payloads
        assert parsed.is_canonical()


def test_a_checksum_of_another_key_is_noticed():
    block = block_of(['{"n":1}', '{"n":1}'])

    assert block.parse(2) is not None
    assert block._replace(keys=(1, 0)).parse(2) is None
    assert block._replace(crcs=tuple(map(float, block.crcs))).parse(2) is None
    assert block._replace(texts=(b'{"n":1}', '{"n":1}')).parse(2) is None


def test_orjson_writes_every_character_as_json_does():
    orjson = pytest.importorskip("orjson")
    characters = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]

    assert orjson.dumps(characters) == to_json(characters).encode()


#: Surrogates cannot be stored.
_text = st.text(st.characters(exclude_categories=["Cs"]))
_numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
_values = st.recursive(
    st.none() | st.booleans() | _numbers | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
)
_payloads = st.lists(st.dictionaries(_text, _values, max_size=4), min_size=1, max_size=6)


@given(_payloads, st.data())
@settings(max_examples=200, deadline=None)
def test_a_block_is_canonical_if_each_payload_is(payloads, data):
    """Payloads as diffhash writes them, and one that another program may have written."""
    texts = [to_json(payload) for payload in payloads]
    at = data.draw(st.integers(0, len(texts) - 1))
    separators = data.draw(st.sampled_from([(", ", ":"), (",", ": "), (",", ":")]))
    other = json.dumps(payloads[at], separators=separators)  # characters beyond ASCII as escapes
    usual, changed = block_of(texts).parse(2), block_of([*texts[:at], other, *texts[at + 1 :]]).parse(2)

    assert usual is not None
    assert changed is not None
    assert usual.payloads == changed.payloads == payloads
    assert usual.is_canonical()
    assert changed.is_canonical() == (other == texts[at])
