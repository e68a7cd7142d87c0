"""One self-contained HTML file about an explanation, without network and without trust in its content."""

from polyshap.report.page import write_report

__all__ = ["write_report"]
