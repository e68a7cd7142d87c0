"""Bridges to shap and shapiq; each is imported only where it is used."""

__all__: list[str] = []
