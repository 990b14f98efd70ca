"""Reads the HTML of a view, and refuses what a page may not have."""

import re
from html.parser import HTMLParser

# Tags that are not closed; none of the views has one.
ALONE = {"br", "hr", "img", "input", "link", "meta"}
HOSTILE = ['<script>alert("1")</script>', '" onload="x', "'><b>", "]]>&amp;", "\x1b[31mred", "a\nb"]


class Page(HTMLParser):
    """A view: its texts by tag, its titles, how often each class is there."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.classes = [], [], []
        self.texts, self.titles, self.style = [], [], ""
        self.feed(html)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        assert tag not in ALONE and tag not in ("script", "iframe", "object", "use"), tag
        for name, value in attrs:
            assert not name.startswith("on") and name not in ("href", "src", "xlink:href"), name
            if name == "class":
                self.classes += (value or "").split()
            elif name == "title":
                self.titles.append(value)
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"{tag} closes {self.open}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.style += data
        elif self.open and self.open[-1] == "title":
            self.titles.append(data)
        elif data.strip():
            self.texts.append(data)

    def of(self, tag):
        """Attributes of each tag of this name."""
        return [attrs for name, attrs in self.tags if name == tag]


def page(html):
    """The view, once it is known to need nothing from elsewhere and to have both themes."""
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in html and "@import" not in html and "javascript" not in html
    found = Page(html)
    assert "prefers-color-scheme:dark" in found.style
    assert '[data-jp-theme-light="false"]' in found.style and ".vscode-dark" in found.style
    used = set(re.findall(r"var\(--m-([a-z-]+)\)", found.style))
    assert used <= set(re.findall(r"--m-([a-z-]+):#", found.style))
    return found
