"""Plots as inline SVG."""

from pacshift.report.pictures import to_inline


def test_inline_pictures_drop_what_would_reach_the_rest_of_the_page() -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 20"><metadata>x</metadata>'
        '<defs><style>*{color: red}</style></defs><text id="a" style="fill: #0072b2">#0072b2</text></svg>'
    )
    inline = str(to_inline(svg, name="p", alt='say "this"'))
    assert inline == (
        '<svg viewBox="0 0 10 20" width="10" height="20" role="img" aria-label="say &quot;this&quot;">'
        '<text id="p-a" style="fill: var(--target)">#0072b2</text></svg>'
    )
