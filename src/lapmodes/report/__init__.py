"""One self-contained HTML page that explains a clustering to somebody who has never heard of the algorithm."""

from .content import ReportContent, report_content
from .page import write_page, write_report

__all__ = ["ReportContent", "report_content", "write_page", "write_report"]
