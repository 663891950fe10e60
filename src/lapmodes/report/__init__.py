"""One self-contained HTML page that explains a clustering to somebody who has never heard of the algorithm."""

from .page import write_page
from .story import Selection, Story, story_of, write_report

__all__ = ["Selection", "Story", "story_of", "write_page", "write_report"]
