"""The page of the demonstration: one self-contained HTML file, without network or scripts."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from ...report.html import html_page, page_css
from .figures import recall_svg, roc_svg
from .result import Answer, DemoResult, Found

__all__ = ["demo_page", "next_steps"]

_SECTIONS = {
    "words": "Search with words",
    "pictures": "Search with a drawing",
    "figures": "How often the answer is right",
    "cost": "Time and size",
    "next": "What to do next",
}


def demo_page(result: DemoResult) -> str:
    """Return the whole page. All text from outside is escaped."""
    body = [
        _head(result),
        _section("words", _words_key(result), *map(_word_answer, result.words)),
        _section(
            "pictures",
            f"<p>Each drawing shows a symbol that was not used for training. Below it are the five nearest of all "
            f"{result.n_symbols:,} names, with the symbols that have these names.</p>",
            f'<div class="two-up">{"".join(map(_picture_answer, result.pictures))}</div>',
        ),
        _section("figures", _figures(result)),
        _section("cost", _cost(result)),
        _section("next", _next(result)),
    ]
    return html_page("Symbols by their names: diffhash", _css(), body)


def next_steps(result: DemoResult) -> dict[str, str]:
    """Return commands to try next, by what they do."""
    path = result.collection
    return {
        "Search for something else": f'diffhash search {path} "black star" --open',
        "Search with a drawing of your own (white on black)": f"diffhash search {path} --image drawing.png --into text",
        "Show what the file contains": f"diffhash info {path}",
        "Build a collection from your own pictures and captions": "diffhash build --help",
        "Search on a page: type, draw, or drop a picture": f"diffhash serve {path} --open",
    }


def _css() -> str:
    return page_css() + files(__package__).joinpath("page.css").read_text(encoding="utf-8")


def _head(result: DemoResult) -> str:
    first = result.directions[0]
    second = next(d for d in result.directions if (d.query, d.into) == (first.into, first.query))
    size = result.bytes
    numbers = [
        (f"{size['code']} bytes",
         f"per code; the features of a drawing take {size['features of a drawing']:,}"),
        (f"{first.recall_at(10):.0%} and {second.recall_at(10):.0%}",
         f"of unseen symbols are found among the first 10 of {result.n_test} ({first.title}, {second.title})"),
        (_milliseconds(result.search_seconds), f"for a search with words among {result.n_symbols:,} symbols"),
        (f"{sum(step.seconds for step in result.steps):.0f} s", "to draw, learn, evaluate, build and search"),
    ]  # fmt: skip
    items = "".join(
        f"<li><strong>{escape(big)}</strong><span>{escape(small)}</span></li>" for big, small in numbers
    )
    links = "".join(f'<li><a href="#{key}">{escape(title)}</a></li>' for key, title in _SECTIONS.items())
    return (
        "<header><h1>Symbols by their names, names by their symbols</h1>"
        f'<p class="lead">diffhash {escape(result.environment.get("diffhash", "?"))} learned from {result.n_train:,} '
        f"characters in three modalities: the drawing in a sans-serif face, the Unicode name, and the drawing in a "
        f"serif face, which {result.n_serif:,} of all {result.n_symbols:,} symbols have. Drawings and names get codes "
        f"of {result.n_bits} bits; the codes of a symbol's drawings and of its name differ in few bits. "
        f"{result.n_test} symbols were not used for training: all measured numbers are for these.</p>"
        f'<ul class="numbers">{items}</ul><nav><ul>{links}</ul></nav></header>'
    )


def _section(key: str, *parts: str) -> str:
    return f'<section id="{key}"><h2>{escape(_SECTIONS[key])}</h2>\n' + "\n".join(parts) + "\n</section>"


def _words_key(result: DemoResult) -> str:
    return (
        f"<p>The nearest drawings for some words, nearest first. The number below each is its distance: how many of "
        f"the {result.n_bits} bits differ.</p>"
        '<p class="key"><span><i class="unseen"></i>not used for training</span> '
        '<span><i class="right"></i>has exactly this name</span></p>'
    )


def _word_answer(answer: Answer) -> str:
    title = f"<h3>“{escape(answer.asked)}”</h3>"
    if not answer.known:
        return (
            f'<article class="answer">{title}<p>No search: none of these words occurs in two or more training '
            "names.</p></article>"
        )
    return (
        f'<article class="answer">{title}<div class="lists">'
        f'<div><p class="label">Nearest of all symbols</p>{_symbols(answer.hits)}</div>'
        f'<div class="all-unseen"><p class="label">Nearest of the unseen symbols</p>'
        f"{_symbols(answer.unseen_hits)}</div></div></article>"
    )


def _symbols(hits: tuple[Found, ...]) -> str:
    items = "".join(
        f'<li class="{_classes(hit)}"><img src="{escape(hit.picture)}" alt="{escape(hit.name)}" '
        f'title="{escape(hit.name)}"><small>{hit.distance}</small></li>'
        for hit in hits
    )
    return f'<ol class="symbols">{items}</ol>'


def _classes(hit: Found) -> str:
    return " ".join(name for name, is_so in (("unseen", hit.unseen), ("right", hit.right)) if is_so)


def _picture_answer(answer: Answer) -> str:
    items = "".join(
        f'<li class="{"right" if hit.right else ""}"><img src="{escape(hit.picture)}" alt="">'
        f'<span class="name">{escape(_title(hit.name))}</span><small>{hit.distance} bits</small></li>'
        for hit in answer.hits
    )
    found = any(hit.right for hit in answer.hits)
    nearer = (
        "" if found or answer.nearer is None else f"; {answer.nearer:,} names are nearer than the right one"
    )
    return (
        f'<article class="answer"><h3><img src="{escape(answer.picture)}" alt="the query">'
        f"<span>{escape(_title(answer.name))}</span></h3>"
        f'<p class="label">Nearest names{escape(nearer)}</p>'
        f'<ol class="names">{items}</ol></article>'
    )


def _title(name: str) -> str:
    """Return a Unicode name in lower case."""
    return name.lower()


def _figures(result: DemoResult) -> str:
    header = ("", "queries", "items", "mAP", "95 % interval", "recall@1", "recall@10", "EER")
    rows = [
        (
            d.title,
            f"{d.queries:,}",
            f"{d.items:,}",
            f"{d.mean_average_precision:.3f}",
            f"{d.interval[0]:.3f} to {d.interval[1]:.3f}",
            f"{d.recall_at(1):.3f}",
            f"{d.recall_at(10):.3f}",
            f"{d.equal_error_rate:.3f}",
        )
        for d in result.directions
    ]
    n = result.n_test
    rows.append(
        ("chance", "", f"{n:,}", f"{result.chance:.3f}", "", f"{1 / n:.3f}", f"{10 / n:.3f}", "0.500")
    )
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    cells = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return (
        f"<p>Among the {n} unseen symbols each query has one right answer; symbols without a serif drawing are neither "
        "queries nor items there. If several items have the same distance, the expected value over their orders is "
        "counted. Many characters look alike or are drawn exactly alike "
        "(Latin A, Greek Alpha, Cyrillic A), and many names differ in one rare word, so no method is always right.</p>"
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table></div>'
        f'<div class="panels two">{recall_svg(result)}{roc_svg(result)}</div>'
    )


def _cost(result: DemoResult) -> str:
    size = result.bytes
    facts = {
        **{step.title.capitalize(): f"{step.seconds:.1f} s" for step in result.steps},
        "One search with words, ten answers": _milliseconds(result.search_seconds),
        f"Search among {result.n_symbols:,} codes alone": _milliseconds(result.code_seconds),
        "A code": f"{size['code']} bytes",
        "Features of a drawing": f"{size['features of a drawing']:,} bytes",
        "The collection": f"{size['collection'] / 1e6:.1f} MB: the model, the codes of drawings and names, and "
        "the name and picture of each symbol",
        "Method": f"{result.method}; rows of one symbol belong together, all other pairs are negative",
        "Machine": "; ".join(f"{key} {value}" for key, value in result.environment.items()),
        "Date": result.date,
    }
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return f"<dl>{rows}</dl>"


def _next(result: DemoResult) -> str:
    lines = "\n".join(
        f"{escape(line)}   # {escape(what.lower())}" for what, line in next_steps(result).items()
    )
    return f'<pre tabindex="0">{lines}</pre>'


def _milliseconds(seconds: float) -> str:
    milliseconds = 1000 * seconds
    return f"{milliseconds:.1f} ms" if milliseconds >= 0.1 else f"{1000 * milliseconds:.0f} µs"
